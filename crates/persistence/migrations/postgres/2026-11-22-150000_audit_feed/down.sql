DROP TRIGGER audit_events_removed ON audit_events;
DROP FUNCTION note_removed_audit_events();
DROP TRIGGER audit_events_announced ON audit_events;
DROP FUNCTION announce_audit_events();
ALTER TABLE audit_events DROP COLUMN position;
DROP TABLE audit_feed;

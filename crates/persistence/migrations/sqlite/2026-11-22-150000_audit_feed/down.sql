DROP TRIGGER audit_events_removed;
DROP TRIGGER audit_events_numbered;
DROP TABLE audit_positions;
DROP TABLE audit_feed;

DROP TRIGGER audit_events_not_deleted;
CREATE TRIGGER audit_events_not_deleted BEFORE DELETE ON audit_events
WHEN NOT EXISTS (SELECT 1 FROM audit_events_removal WHERE OLD.occurred_at < removable_before)
BEGIN
    SELECT RAISE(ABORT, 'audit_events is append-only: DELETE is refused');
END;
DROP TABLE retention_clock;

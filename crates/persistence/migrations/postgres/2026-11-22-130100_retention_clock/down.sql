DROP TRIGGER audit_events_kept ON audit_events;
CREATE TRIGGER audit_events_kept BEFORE DELETE ON audit_events
    FOR EACH ROW
    WHEN (OLD.occurred_at >= coalesce(
        nullif(current_setting('keyward.audit_events_removable_before', true), '')::timestamptz, '-infinity'))
    EXECUTE FUNCTION refuse_to_change_audit_events();
ALTER TABLE audit_events ENABLE ALWAYS TRIGGER audit_events_kept;
DROP TABLE retention_clock;

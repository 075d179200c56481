DROP TRIGGER audit_events_kept ON audit_events;
DROP TRIGGER audit_events_append_only ON audit_events;
CREATE TRIGGER audit_events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_to_change_audit_events();
ALTER TABLE audit_events ENABLE ALWAYS TRIGGER audit_events_append_only;
DROP INDEX sign_in_throttle_empty_at_idx;
DROP INDEX invitations_over_since_idx;
DROP INDEX memberships_ended_at_idx;
DROP INDEX api_keys_revoked_at_idx;
DROP INDEX api_keys_next_above_idx;
ALTER TABLE api_keys DROP COLUMN adopted_by_key_id;

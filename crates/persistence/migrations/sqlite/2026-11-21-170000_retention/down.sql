DROP TRIGGER audit_events_not_deleted;
CREATE TRIGGER audit_events_not_deleted BEFORE DELETE ON audit_events
BEGIN
    SELECT RAISE(ABORT, 'audit_events is append-only: DELETE is refused');
END;
DROP TABLE audit_events_removal;
DROP INDEX sign_in_throttle_empty_at_idx;
DROP INDEX invitations_over_since_idx;
DROP INDEX memberships_ended_at_idx;
DROP INDEX api_keys_revoked_at_idx;
-- The children of a key.
CREATE INDEX api_keys_created_by_key_id_idx ON api_keys (created_by_key_id) WHERE created_by_key_id IS NOT NULL;
DROP INDEX api_keys_next_above_idx;
ALTER TABLE api_keys DROP COLUMN adopted_by_key_id;

-- Kind: additive

-- The end of a key (`revoked_at`) and of a membership (`ended_at`) may lie ahead: it is planned, and comes at that moment.
-- `end_came_at` is there once it has come whatever a clock says: when somebody ended the key or the membership there and
-- then. Until it is there, whoever asks compares the end with their moment. What may be valid is found by its absence.

ALTER TABLE memberships ADD COLUMN end_came_at timestamptz
    CONSTRAINT memberships_end_came_at_check CHECK (end_came_at IS NULL OR ended_at IS NOT NULL);
ALTER TABLE api_keys ADD COLUMN end_came_at timestamptz
    CONSTRAINT api_keys_end_came_at_check CHECK (end_came_at IS NULL OR revoked_at IS NOT NULL);
UPDATE memberships SET end_came_at = ended_at WHERE ended_at IS NOT NULL;
UPDATE api_keys SET end_came_at = revoked_at WHERE revoked_at IS NOT NULL;

DROP INDEX memberships_live_key;
CREATE UNIQUE INDEX memberships_live_key ON memberships (organization_id, user_id) WHERE end_came_at IS NULL;
DROP INDEX memberships_organization_id_id_idx;
CREATE INDEX memberships_organization_id_id_idx ON memberships (organization_id, id) WHERE end_came_at IS NULL;

DROP INDEX api_keys_valid_idx;
CREATE INDEX api_keys_valid_idx ON api_keys (consumer_id, id) WHERE end_came_at IS NULL;
DROP INDEX api_keys_organization_valid_idx;
CREATE INDEX api_keys_organization_valid_idx ON api_keys (organization_id, id) WHERE end_came_at IS NULL;
DROP INDEX api_keys_organization_idle_idx;
CREATE INDEX api_keys_organization_idle_idx ON api_keys (organization_id, idle_since_day, id) WHERE end_came_at IS NULL;

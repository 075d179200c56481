DROP INDEX memberships_live_key;
CREATE UNIQUE INDEX memberships_live_key ON memberships (organization_id, user_id) WHERE ended_at IS NULL;
DROP INDEX memberships_organization_id_id_idx;
CREATE INDEX memberships_organization_id_id_idx ON memberships (organization_id, id) WHERE ended_at IS NULL;

DROP INDEX api_keys_valid_idx;
CREATE INDEX api_keys_valid_idx ON api_keys (consumer_id, id) WHERE revoked_at IS NULL;
DROP INDEX api_keys_organization_valid_idx;
CREATE INDEX api_keys_organization_valid_idx ON api_keys (organization_id, id) WHERE revoked_at IS NULL;
DROP INDEX api_keys_organization_idle_idx;
CREATE INDEX api_keys_organization_idle_idx ON api_keys (organization_id, idle_since_day, id) WHERE revoked_at IS NULL;

ALTER TABLE api_keys DROP COLUMN end_came_at;
ALTER TABLE memberships DROP COLUMN end_came_at;

DROP INDEX memberships_organization_idx;
DROP INDEX api_keys_organization_idle_idx;
DROP INDEX api_keys_organization_revoked_idx;
DROP INDEX api_keys_organization_valid_idx;
DROP INDEX api_keys_organization_id_id_idx;
DROP TRIGGER api_keys_organization;
ALTER TABLE api_keys DROP COLUMN organization_id;

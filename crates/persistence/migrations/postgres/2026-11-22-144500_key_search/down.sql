DROP TRIGGER api_keys_search_edited ON api_keys;
DROP TRIGGER api_keys_search ON api_keys;
DROP FUNCTION api_keys_search();
DROP INDEX api_keys_idle_unknown_idx;
DROP INDEX api_keys_organization_idle_idx;
DROP INDEX api_keys_organization_revoked_idx;
DROP INDEX memberships_organization_idx;
DROP TABLE api_key_search;
DROP FUNCTION search_grams(uuid, text);

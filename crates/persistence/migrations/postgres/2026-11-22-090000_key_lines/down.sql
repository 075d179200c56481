DROP TRIGGER api_keys_line ON api_keys;
DROP FUNCTION api_keys_line();
ALTER TABLE api_keys DROP COLUMN skip_key_id, DROP COLUMN tree_depth;

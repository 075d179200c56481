DROP TRIGGER api_keys_line;
ALTER TABLE api_keys DROP COLUMN skip_key_id;
ALTER TABLE api_keys DROP COLUMN tree_depth;

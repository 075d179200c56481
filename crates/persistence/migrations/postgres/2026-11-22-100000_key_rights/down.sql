ALTER TABLE organizations DROP COLUMN new_keys_manage_keys;
ALTER TABLE api_keys DROP COLUMN can_manage_keys;

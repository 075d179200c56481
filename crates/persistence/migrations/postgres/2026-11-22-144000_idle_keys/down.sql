DROP TRIGGER api_keys_idle_since_day ON api_keys;
DROP TRIGGER api_keys_idle_since_day_of_new ON api_keys;
DROP FUNCTION api_keys_idle_since_day();
ALTER TABLE api_keys DROP COLUMN idle_since_day;

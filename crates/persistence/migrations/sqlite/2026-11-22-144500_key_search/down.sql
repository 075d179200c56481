DROP TRIGGER api_keys_search_removed;
DROP TRIGGER api_keys_search_edited;
DROP TRIGGER api_keys_search_added;
DROP TABLE api_key_grams;
DROP VIEW search_grams;
DROP TABLE api_key_search;

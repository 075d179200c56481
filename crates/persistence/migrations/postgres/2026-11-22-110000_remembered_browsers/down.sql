ALTER TABLE installation DROP COLUMN browser_key;

ALTER TABLE memberships DROP COLUMN changes_empty_at;

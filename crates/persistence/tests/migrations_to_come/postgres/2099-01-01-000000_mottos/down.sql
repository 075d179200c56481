ALTER TABLE organizations DROP COLUMN motto;

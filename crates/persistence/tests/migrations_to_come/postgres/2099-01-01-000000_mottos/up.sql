-- Kind: additive

-- A sample change of a future version, for tests of upgrades.
ALTER TABLE organizations ADD COLUMN motto text;

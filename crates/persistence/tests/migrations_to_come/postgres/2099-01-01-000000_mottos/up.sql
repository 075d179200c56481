-- Kind: additive

-- What a version to come could add, to test upgrades with.
ALTER TABLE organizations ADD COLUMN motto text;

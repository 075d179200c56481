-- Kind: additive

-- How often a consumer may create and edit keys.

-- When the bucket of the consumer's changes will have run empty; nothing if it never changed keys.
ALTER TABLE memberships ADD COLUMN changes_empty_at INTEGER;

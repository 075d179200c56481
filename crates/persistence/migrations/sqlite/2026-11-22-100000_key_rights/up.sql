-- Kind: additive

-- A key need not manage keys.

-- Whether the key may create keys, and see and change the other keys of its consumer. It never changes.
ALTER TABLE api_keys ADD COLUMN can_manage_keys INTEGER NOT NULL DEFAULT 1
    CONSTRAINT api_keys_can_manage_keys_check CHECK (can_manage_keys IN (0, 1));
-- What holds for a new key if nobody asks for either.
ALTER TABLE organizations ADD COLUMN new_keys_manage_keys INTEGER NOT NULL DEFAULT 1
    CONSTRAINT organizations_new_keys_manage_keys_check CHECK (new_keys_manage_keys IN (0, 1));

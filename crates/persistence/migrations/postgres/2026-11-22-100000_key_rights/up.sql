-- Kind: additive

-- A key need not manage keys. Everything is added; the version before this one goes on beside it. That one creates only
-- keys that may manage keys, and lets every key manage keys: run it no longer than the change of versions takes.

-- Whether the key may create keys, and see and change the other keys of its consumer. It never changes.
ALTER TABLE api_keys ADD COLUMN can_manage_keys boolean NOT NULL DEFAULT true;
-- What holds for a new key if nobody asks for either.
ALTER TABLE organizations ADD COLUMN new_keys_manage_keys boolean NOT NULL DEFAULT true;

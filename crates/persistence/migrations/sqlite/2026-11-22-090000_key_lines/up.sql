-- Kind: additive

-- Lines of keys that can be climbed in few steps, whatever is dead in between.

-- How many keys made each other before this one, in one line; and one of these, chosen so that any of them is found in a
-- number of steps that grows with the logarithm of the depth (E. W. Myers, "An applicative random-access stack", 1983).
-- Neither ever changes. Absent for keys made in the console. No foreign key: retention may remove it; then the climb
-- takes the next key above.
ALTER TABLE api_keys ADD COLUMN tree_depth INTEGER NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN skip_key_id BLOB
    CONSTRAINT api_keys_skip_key_id_check CHECK (length(skip_key_id) = 16);

-- Two skips of the same length become one of both.
CREATE TRIGGER api_keys_line AFTER INSERT ON api_keys
WHEN NEW.created_by_key_id IS NOT NULL AND NEW.tree_depth = 0
BEGIN
    UPDATE api_keys SET
        tree_depth = parent.tree_depth + 1,
        skip_key_id = CASE WHEN parent.tree_depth - skip.tree_depth = skip.tree_depth - second.tree_depth
            THEN second.id ELSE parent.id END
    FROM api_keys parent
    LEFT JOIN api_keys skip ON skip.id = parent.skip_key_id
    LEFT JOIN api_keys second ON second.id = skip.skip_key_id
    WHERE api_keys.id = NEW.id AND parent.id = NEW.created_by_key_id AND parent.consumer_id = NEW.consumer_id;
END;

-- The keys that are there, from above to below. Each carries the line of its skips: 32 digits of an identifier and 10
-- of its depth for each, the key itself first.
WITH RECURSIVE line (id, consumer_id, depth, skips) AS (
    SELECT top.id, top.consumer_id, 0, hex(top.id) || '0000000000'
    FROM api_keys top
    WHERE NOT EXISTS (
        SELECT 1 FROM api_keys above
        WHERE above.id = coalesce(top.adopted_by_key_id, top.created_by_key_id) AND +above.consumer_id = top.consumer_id
    )
    UNION ALL
    SELECT key.id, key.consumer_id, line.depth + 1,
        hex(key.id) || printf('%010d', line.depth + 1)
            || CASE WHEN line.depth - nullif(substr(line.skips, 75, 10), '')
                    = nullif(substr(line.skips, 75, 10), '') - nullif(substr(line.skips, 117, 10), '')
                THEN substr(line.skips, 85) ELSE line.skips END
    FROM line CROSS JOIN api_keys key ON coalesce(key.adopted_by_key_id, key.created_by_key_id) = line.id
        AND +key.consumer_id = line.consumer_id
)
UPDATE api_keys SET tree_depth = line.depth, skip_key_id = unhex(substr(line.skips, 43, 32))
FROM line WHERE line.id = api_keys.id AND line.depth > 0;

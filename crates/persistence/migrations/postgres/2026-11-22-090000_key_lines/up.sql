-- Kind: additive

-- Lines of keys that can be climbed in few steps, whatever is dead in between. The version before this one goes on
-- beside it: triggers fill the columns in, whoever adds the key.

-- How many keys made each other before this one, in one line; and one of these, chosen so that any of them is found in a
-- number of steps that grows with the logarithm of the depth (E. W. Myers, "An applicative random-access stack", 1983).
-- Neither ever changes. Absent for keys made in the console. No foreign key: retention may remove it; then the climb
-- takes the next key above.
ALTER TABLE api_keys
    ADD COLUMN tree_depth integer NOT NULL DEFAULT 0,
    ADD COLUMN skip_key_id uuid;

CREATE FUNCTION api_keys_line() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Two skips of the same length become one of both.
    SELECT parent.tree_depth + 1,
        CASE WHEN parent.tree_depth - skip.tree_depth = skip.tree_depth - second.tree_depth
            THEN second.id ELSE parent.id END
    INTO NEW.tree_depth, NEW.skip_key_id
    FROM api_keys parent
    LEFT JOIN api_keys skip ON skip.id = parent.skip_key_id
    LEFT JOIN api_keys second ON second.id = skip.skip_key_id
    WHERE parent.id = NEW.created_by_key_id AND parent.consumer_id = NEW.consumer_id;
    NEW.tree_depth := coalesce(NEW.tree_depth, 0);
    RETURN NEW;
END;
$$;
CREATE TRIGGER api_keys_line BEFORE INSERT ON api_keys
    FOR EACH ROW WHEN (NEW.created_by_key_id IS NOT NULL AND NEW.tree_depth = 0)
    EXECUTE FUNCTION api_keys_line();

-- One level of the recursion finds few keys of many, which the planner does not know: it would hash all keys again at each
-- level, for hours where a line is long, while nobody can use the table. By the index it takes seconds.
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off;

-- The keys that are there, from above to below. Each carries the line of its skips: 32 digits of an identifier and 10
-- of its depth for each, the key itself first.
WITH RECURSIVE line AS (
    SELECT top.id, top.consumer_id, 0 AS depth, replace(top.id::text, '-', '') || '0000000000' AS skips
    FROM api_keys top
    WHERE NOT EXISTS (
        SELECT FROM api_keys above
        WHERE above.id = coalesce(top.adopted_by_key_id, top.created_by_key_id) AND above.consumer_id = top.consumer_id
    )
    UNION ALL
    SELECT key.id, key.consumer_id, line.depth + 1,
        replace(key.id::text, '-', '') || lpad((line.depth + 1)::text, 10, '0')
            || CASE WHEN line.depth - nullif(substr(line.skips, 75, 10), '')::integer
                    = nullif(substr(line.skips, 75, 10), '')::integer - nullif(substr(line.skips, 117, 10), '')::integer
                THEN substr(line.skips, 85) ELSE line.skips END
    FROM line JOIN api_keys key ON coalesce(key.adopted_by_key_id, key.created_by_key_id) = line.id
        AND key.consumer_id = line.consumer_id
)
UPDATE api_keys SET tree_depth = line.depth, skip_key_id = substr(line.skips, 43, 32)::uuid
FROM line WHERE line.id = api_keys.id AND line.depth > 0;

SET LOCAL enable_hashjoin = on;
SET LOCAL enable_mergejoin = on;

-- Kind: additive

-- What finds the keys of an organization that contain a term, where few of very many do. The version before this one goes
-- on beside it: triggers keep the index, whoever writes keys. With a million keys this takes a minute or two, in which
-- nobody writes.

-- What the index knows a key as. (The number that SQLite gives a row by itself may change.) There are eight runs of numbers, of
-- 2^40 each. Within a run they rise with the identifiers, so that the index finds the newest keys first. A key goes into a run
-- whose last key has a lower identifier: nearly always the first, or the second for as long as keys are in the first that were
-- made while a clock was ahead. One that fits into none, which takes clocks that go back eight times, gets a number below 0.
CREATE TABLE api_key_search (
    number INTEGER NOT NULL CONSTRAINT api_key_search_pkey PRIMARY KEY,
    key_id BLOB NOT NULL CONSTRAINT api_key_search_key_id_key UNIQUE
) STRICT;
CREATE INDEX api_key_search_run_idx ON api_key_search (number >> 40, key_id);

-- Every three bytes that follow each other in a text, and the last two and the last one: a term of three or more is in
-- texts that have all of its threes, a shorter one in texts that have one that begins with it. Each in hexadecimal,
-- behind six digits of the organization, so that nobody's search goes through what others have. (It makes no difference
-- if two organizations share them: the text itself is compared at the end.) Bytes, because SQLite finds the n-th
-- character of a text by counting from its beginning.
CREATE VIEW search_grams (key_id, grams) AS
    SELECT api_keys.id, (
        SELECT group_concat(
            hex(substr(memberships.organization_id, 14)) || hex(substr(CAST(api_keys.search_text AS BLOB), place.key + 1, 3)),
            ' '
        )
        FROM json_each(
            '[0' || replace(hex(zeroblob(length(CAST(api_keys.search_text AS BLOB)) - 1)), '00', ',0') || ']'
        ) AS place
    )
    FROM api_keys JOIN memberships ON memberships.id = api_keys.consumer_id;

CREATE VIRTUAL TABLE api_key_grams USING fts5 (
    grams, content = '', contentless_delete = 1, detail = 'none', tokenize = 'ascii'
);

INSERT INTO api_key_search (key_id) SELECT id FROM api_keys ORDER BY id;
INSERT INTO api_key_grams (rowid, grams)
    SELECT api_key_search.number, search_grams.grams
    FROM api_key_search CROSS JOIN search_grams ON search_grams.key_id = api_key_search.key_id;

CREATE TRIGGER api_keys_search_added AFTER INSERT ON api_keys
BEGIN
    INSERT INTO api_key_search (number, key_id) SELECT
        coalesce(
            (
                SELECT coalesce(last_number, run << 40) + 1
                FROM (
                    SELECT run.value AS run, (
                        SELECT max(number) FROM api_key_search WHERE number > run.value << 40 AND number < (run.value + 1) << 40
                    ) AS last_number
                    FROM json_each('[0,1,2,3,4,5,6,7]') AS run
                )
                WHERE last_number IS NULL
                    OR NEW.id > (SELECT key_id FROM api_key_search WHERE number = last_number)
                LIMIT 1
            ),
            -- These rise, too, because the index takes them in faster so.
            coalesce((SELECT max(number) FROM api_key_search WHERE number < 0), -4611686018427387904) + 1
        ),
        NEW.id;
    INSERT INTO api_key_grams (rowid, grams)
        SELECT api_key_search.number, search_grams.grams
        FROM api_key_search CROSS JOIN search_grams ON search_grams.key_id = api_key_search.key_id
        WHERE api_key_search.key_id = NEW.id;
END;
CREATE TRIGGER api_keys_search_edited AFTER UPDATE OF search_text ON api_keys
WHEN NEW.search_text <> OLD.search_text
BEGIN
    DELETE FROM api_key_grams WHERE rowid = (SELECT number FROM api_key_search WHERE key_id = NEW.id);
    INSERT INTO api_key_grams (rowid, grams)
        SELECT api_key_search.number, search_grams.grams
        FROM api_key_search CROSS JOIN search_grams ON search_grams.key_id = api_key_search.key_id
        WHERE api_key_search.key_id = NEW.id;
END;
CREATE TRIGGER api_keys_search_removed AFTER DELETE ON api_keys
BEGIN
    DELETE FROM api_key_grams WHERE rowid = (SELECT number FROM api_key_search WHERE key_id = OLD.id);
    DELETE FROM api_key_search WHERE key_id = OLD.id;
END;

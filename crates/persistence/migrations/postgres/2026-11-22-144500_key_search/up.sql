-- Kind: additive

-- What finds the keys of an organization that few of very many are: those that contain a term, that were not used for
-- long, that were revoked, that former members hold. The version before this one goes on beside it: triggers keep the new
-- table, whoever writes keys.
--
-- With a million keys this takes a minute or two. All that time everybody goes on reading and writing, but for the last
-- few seconds, in which nobody adds, edits, revokes or removes a key; reading goes on.

-- What each key is searched by, in a table of its own: a revocation writes a new version of the key's row, and need not
-- write this index, too.
CREATE TABLE api_key_search (
    key_id uuid NOT NULL CONSTRAINT api_key_search_pkey PRIMARY KEY,
    organization_id uuid NOT NULL,
    search_text text NOT NULL
);

-- Every three characters that follow each other in the text, and the last two and the last one: a term of three or more
-- is in texts that have all of its threes, a shorter one in texts that have one that begins with it. Each behind six
-- digits of the organization, so that nobody's search goes through what others have. (It makes no difference if two
-- organizations share them: the text itself is compared at the end.)
CREATE FUNCTION search_grams(organization uuid, search_text text) RETURNS tsvector
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE COST 10000 AS $$
DECLARE
    prefix text := right(organization::text, 6);
    grams text[] := '{}';
    second_last text := '';
    last text := '';
    next text;
BEGIN
    FOREACH next IN ARRAY string_to_array(search_text, NULL) LOOP
        IF second_last <> '' THEN
            grams := grams || (prefix || second_last || last || next);
        END IF;
        second_last := last;
        last := next;
    END LOOP;
    RETURN array_to_tsvector(grams || (prefix || second_last || last) || (prefix || last));
END;
$$;

INSERT INTO api_key_search (key_id, organization_id, search_text)
    SELECT api_keys.id, memberships.organization_id, api_keys.search_text
    FROM api_keys JOIN memberships ON memberships.id = api_keys.consumer_id;
-- Not fastupdate: its list of what is to be put into the index later is read by every search from one end to the other,
-- and whoever adds the key at which it is full puts all of it in while others wait.
CREATE INDEX api_key_search_grams_idx ON api_key_search USING gin (search_grams(organization_id, search_text))
    WITH (fastupdate = off);

-- All memberships of an organization, former ones, too.
CREATE INDEX memberships_organization_idx ON memberships (organization_id);

-- From here on nobody writes keys. An organization's revoked keys, newest first (read backwards).
CREATE INDEX api_keys_organization_revoked_idx ON api_keys (organization_id, id) WHERE revoked_at IS NOT NULL;
-- An organization's valid keys by how long they have been idle.
CREATE INDEX api_keys_organization_idle_idx ON api_keys (organization_id, idle_since_day, id) WHERE revoked_at IS NULL;
-- Valid keys from before, of which it is not known yet: bringing the database up to date fills it in.
CREATE INDEX api_keys_idle_unknown_idx ON api_keys (id) WHERE idle_since_day = 0 AND revoked_at IS NULL;

CREATE FUNCTION api_keys_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM api_key_search WHERE key_id = OLD.id;
    ELSE
        INSERT INTO api_key_search (key_id, organization_id, search_text)
            VALUES (
                NEW.id,
                -- A key of the version before may have none yet.
                coalesce(
                    NEW.organization_id,
                    (SELECT organization_id FROM memberships WHERE id = NEW.consumer_id)
                ),
                NEW.search_text
            )
            ON CONFLICT (key_id) DO UPDATE SET search_text = excluded.search_text;
    END IF;
    RETURN NULL;
END;
$$;
CREATE TRIGGER api_keys_search AFTER INSERT OR DELETE ON api_keys
    FOR EACH ROW EXECUTE FUNCTION api_keys_search();
CREATE TRIGGER api_keys_search_edited AFTER UPDATE OF search_text ON api_keys
    FOR EACH ROW WHEN (NEW.search_text <> OLD.search_text) EXECUTE FUNCTION api_keys_search();

-- What came and went while the table was being filled.
DELETE FROM api_key_search WHERE NOT EXISTS (SELECT FROM api_keys WHERE api_keys.id = api_key_search.key_id);
INSERT INTO api_key_search (key_id, organization_id, search_text)
    SELECT api_keys.id, memberships.organization_id, api_keys.search_text
    FROM api_keys
    JOIN memberships ON memberships.id = api_keys.consumer_id
    LEFT JOIN api_key_search ON api_key_search.key_id = api_keys.id
    WHERE api_key_search.search_text IS DISTINCT FROM api_keys.search_text
    ON CONFLICT (key_id) DO UPDATE SET search_text = excluded.search_text;

-- Kind: additive

-- Everything an installation keeps: who there is, what is invited and run, the keys, what happened, and what the server
-- itself remembers.
--
-- Rules that one row can break are CHECKs, so that no client of the database can bypass them. What a text may say is
-- the domain's rule alone; only words with a meaning are listed here. Names that people read sort by code point
-- (COLLATE "C"), the same on every server. Every constraint has a name: errors are told apart by it.

---------------------------------------------------------------- Organizations and people

CREATE TABLE organizations (
    id uuid NOT NULL CONSTRAINT organizations_pkey PRIMARY KEY,
    slug text COLLATE "C" NOT NULL CONSTRAINT organizations_slug_key UNIQUE,
    name text COLLATE "C" NOT NULL,
    -- Whether a new key may manage keys, if nobody asks for either.
    new_keys_manage_keys boolean NOT NULL DEFAULT true,
    -- After how many days a new key ends at the latest; null for never.
    longest_key_life_days integer
        CONSTRAINT organizations_longest_key_life_days_check CHECK (longest_key_life_days BETWEEN 1 AND 3650),
    created_at timestamptz NOT NULL
);

CREATE TABLE users (
    id uuid NOT NULL CONSTRAINT users_pkey PRIMARY KEY,
    username text COLLATE "C" NOT NULL CONSTRAINT users_username_key UNIQUE,
    display_name text NOT NULL,
    -- Username and display name, folded by the domain.
    search_text text NOT NULL,
    password_hash text NOT NULL,
    created_at timestamptz NOT NULL
);

-- A user's membership of an organization, which is the consumer of its keys.
CREATE TABLE memberships (
    id uuid NOT NULL CONSTRAINT memberships_pkey PRIMARY KEY,
    organization_id uuid NOT NULL
        CONSTRAINT memberships_organization_id_fkey REFERENCES organizations (id),
    user_id uuid NOT NULL
        CONSTRAINT memberships_user_id_fkey REFERENCES users (id),
    role text NOT NULL
        CONSTRAINT memberships_role_check CHECK (role IN ('owner', 'member')),
    joined_at timestamptz NOT NULL,
    -- May lie ahead: then the end is planned, and comes at that moment.
    ended_at timestamptz,
    -- When the end was recorded as come, whatever a clock says: somebody ended the membership there and then, or its planned
    -- end had come. Until then, whoever asks compares the end with their moment. What may be valid is found by its absence.
    end_came_at timestamptz,
    -- Until when retention was told to remove dead keys as it removed the last of this membership that was never revoked.
    -- No key comes after the end, so it need not look here again.
    keys_removed_at timestamptz,
    -- When the bucket that bounds how often keys are created and edited will have run empty; absent before the first time.
    changes_empty_at timestamptz,
    CONSTRAINT memberships_end_came_at_check CHECK (end_came_at IS NULL OR ended_at IS NOT NULL),
    CONSTRAINT memberships_keys_removed_at_check CHECK (keys_removed_at IS NULL OR ended_at IS NOT NULL)
);

-- Whoever comes back gets a new membership, but never two at a time.
CREATE UNIQUE INDEX memberships_live_key ON memberships (organization_id, user_id) WHERE end_came_at IS NULL;
-- The organizations of a user.
CREATE INDEX memberships_user_id_idx ON memberships (user_id);
-- All memberships of an organization; and those that may be live, who joined last first (read backwards).
CREATE INDEX memberships_organization_idx ON memberships (organization_id);
CREATE INDEX memberships_organization_id_id_idx ON memberships (organization_id, id) WHERE end_came_at IS NULL;
-- Memberships that have ended and may have keys that were never revoked, as retention removes these: who left first, first.
CREATE INDEX memberships_ended_at_idx ON memberships (ended_at, id) WHERE ended_at IS NOT NULL AND keys_removed_at IS NULL;
-- Memberships with a planned end that is not recorded as come, the earliest first.
CREATE INDEX memberships_planned_end_idx ON memberships (ended_at, id) WHERE ended_at IS NOT NULL AND end_came_at IS NULL;

---------------------------------------------------------------- What owners run

CREATE TABLE invitations (
    id uuid NOT NULL CONSTRAINT invitations_pkey PRIMARY KEY,
    organization_id uuid NOT NULL
        CONSTRAINT invitations_organization_id_fkey REFERENCES organizations (id),
    -- SHA-256 of the link's secret, which is stored nowhere.
    digest bytea NOT NULL
        CONSTRAINT invitations_digest_key UNIQUE
        CONSTRAINT invitations_digest_check CHECK (octet_length(digest) = 32),
    invitee text NOT NULL,
    role text NOT NULL
        CONSTRAINT invitations_role_check CHECK (role IN ('owner', 'member')),
    invited_by_kind text NOT NULL
        CONSTRAINT invitations_invited_by_kind_check CHECK (invited_by_kind IN ('user', 'administrator')),
    invited_by_id uuid,
    -- The form that made it, which makes no second one. Absent for invitations that no form made.
    idempotency_key bytea
        CONSTRAINT invitations_idempotency_key_check CHECK (octet_length(idempotency_key) = 16),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    accepted_at timestamptz,
    accepted_membership_id uuid
        CONSTRAINT invitations_accepted_membership_id_fkey REFERENCES memberships (id),
    revoked_at timestamptz,
    CONSTRAINT invitations_invited_by_id_check CHECK ((invited_by_id IS NOT NULL) = (invited_by_kind = 'user')),
    CONSTRAINT invitations_accepted_check CHECK ((accepted_at IS NULL) = (accepted_membership_id IS NULL)),
    CONSTRAINT invitations_end_check CHECK (num_nonnulls(accepted_at, revoked_at) <= 1)
);

-- One form makes one invitation.
CREATE UNIQUE INDEX invitations_idempotency_key_key ON invitations (organization_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
-- An organization's invitations that have not ended, newest first (read backwards).
CREATE INDEX invitations_pending_idx ON invitations (organization_id, id)
    WHERE accepted_at IS NULL AND revoked_at IS NULL;
-- Invitations by when they were, or will be, over: retention removes them then.
CREATE INDEX invitations_over_since_idx ON invitations (coalesce(accepted_at, revoked_at, expires_at));

CREATE TABLE projects (
    id uuid NOT NULL CONSTRAINT projects_pkey PRIMARY KEY,
    organization_id uuid NOT NULL
        CONSTRAINT projects_organization_id_fkey REFERENCES organizations (id),
    name text NOT NULL,
    -- The name, folded by the domain.
    search_text text NOT NULL,
    idempotency_key bytea
        CONSTRAINT projects_idempotency_key_check CHECK (octet_length(idempotency_key) = 16),
    created_at timestamptz NOT NULL,
    archived_at timestamptz
);

-- One form creates one project.
CREATE UNIQUE INDEX projects_idempotency_key_key ON projects (organization_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
-- An organization's projects, newest first (read backwards).
CREATE INDEX projects_organization_id_id_idx ON projects (organization_id, id);

-- The projects that a consumer's keys reach are those of its own rows: the primary key leads there, newest first.
CREATE TABLE project_members (
    membership_id uuid NOT NULL
        CONSTRAINT project_members_membership_id_fkey REFERENCES memberships (id),
    project_id uuid NOT NULL
        CONSTRAINT project_members_project_id_fkey REFERENCES projects (id),
    added_at timestamptz NOT NULL,
    CONSTRAINT project_members_pkey PRIMARY KEY (membership_id, project_id)
);

-- The members of a project.
CREATE INDEX project_members_project_id_idx ON project_members (project_id, membership_id);

---------------------------------------------------------------- Keys

CREATE TABLE api_keys (
    id uuid NOT NULL CONSTRAINT api_keys_pkey PRIMARY KEY,
    consumer_id uuid NOT NULL
        CONSTRAINT api_keys_consumer_id_fkey REFERENCES memberships (id),
    -- The consumer's, which never changes: here, too, it makes one index of all keys of an organization. The trigger
    -- api_keys_organization takes it from the membership, which has the foreign key: here, each new key would lock its
    -- organization's one row for it.
    organization_id uuid NOT NULL,
    -- SHA-256 of the token, which is stored nowhere.
    digest bytea NOT NULL
        CONSTRAINT api_keys_digest_key UNIQUE
        CONSTRAINT api_keys_digest_check CHECK (octet_length(digest) = 32),
    hint text NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    -- Name, description and the token's last four characters, folded by the domain.
    search_text text NOT NULL,
    -- Whether the key may create keys, and see and change the other keys of its consumer. It never changes.
    can_manage_keys boolean NOT NULL DEFAULT true,

    -- A key was created by a user in the console or by another key: its parent.
    created_by_user_id uuid
        CONSTRAINT api_keys_created_by_user_id_fkey REFERENCES users (id),
    -- No foreign key: a parent may be forgotten before its children.
    created_by_key_id uuid,
    -- The key below which this one is in its key tree, if its parent is not: the key that rotated another one to it, or
    -- the nearest of those above it which is still kept. No foreign key: it is set again in the transaction that removes
    -- what it names.
    adoptive_parent_key_id uuid,
    -- How many keys made each other before this one, in one line; and one of these, chosen so that any of them is found
    -- in a number of steps that grows with the logarithm of the depth (E. W. Myers, "An applicative random-access stack",
    -- 1983). The trigger api_keys_line fills both in, and neither ever changes. Without a parent there is nothing to skip
    -- to. No foreign key: retention may remove it; then the climb takes the next key above.
    tree_depth integer NOT NULL DEFAULT 0,
    skip_key_id uuid,
    -- The key whose place this one took, and the one that took its place. No foreign keys: either may be forgotten before
    -- the other.
    rotated_from_key_id uuid,
    rotated_to_key_id uuid,
    -- Of the form that asked for it, or of the request. A request's is forgotten after a day, and has a digest of what was
    -- asked for.
    idempotency_key bytea
        CONSTRAINT api_keys_idempotency_key_check CHECK (octet_length(idempotency_key) = 16),
    request_digest bytea
        CONSTRAINT api_keys_request_digest_check CHECK (octet_length(request_digest) = 16),
    created_at timestamptz NOT NULL,
    -- When the first of the keys was created that led to this one: its own moment, or that of an ancestor, which may be
    -- forgotten. The trigger api_keys_tree fills it in; until then it is later than all. It never changes.
    tree_began_at timestamptz NOT NULL DEFAULT 'infinity',

    last_used_at timestamptz,
    -- Absent also for a key that was used from nowhere in particular.
    last_used_from text,
    -- The day (UTC, counted from 1970) on which the key was last used or, if it never was, created. A day and no moment,
    -- so that the index on it changes once a day for each key and not with every use that is noted. Triggers keep it.
    idle_since_day integer NOT NULL,
    -- The day on which the key was last used, in the same way. Absent if it never was.
    used_on_day integer,

    -- May lie ahead, as the end of a membership may.
    revoked_at timestamptz,
    end_came_at timestamptz,
    revoked_by_kind text
        CONSTRAINT api_keys_revoked_by_kind_check
        CHECK (revoked_by_kind IN ('user', 'api_key', 'administrator', 'system', 'anonymous')),
    revoked_by_id uuid,
    revoked_reason text
        CONSTRAINT api_keys_revoked_reason_check
        CHECK (revoked_reason IN ('holder', 'owner', 'leak', 'administrator', 'expired', 'rotation')),
    -- What an owner said when revoking it.
    revoked_note text,

    CONSTRAINT api_keys_origin_check CHECK (num_nonnulls(created_by_user_id, created_by_key_id) = 1),
    CONSTRAINT api_keys_request_check CHECK (request_digest IS NULL OR idempotency_key IS NOT NULL),
    CONSTRAINT api_keys_last_used_check CHECK (last_used_from IS NULL OR last_used_at IS NOT NULL),
    CONSTRAINT api_keys_end_came_at_check CHECK (end_came_at IS NULL OR revoked_at IS NOT NULL),
    CONSTRAINT api_keys_revocation_check CHECK (num_nonnulls(revoked_at, revoked_by_kind, revoked_reason) IN (0, 3)),
    CONSTRAINT api_keys_revoked_by_id_check
        CHECK ((revoked_by_id IS NOT NULL) = (coalesce(revoked_by_kind, '') IN ('user', 'api_key'))),
    CONSTRAINT api_keys_revoked_note_check CHECK (revoked_note IS NULL OR revoked_at IS NOT NULL)
    -- The last use is updated in place once a minute at most: room on each page keeps that off the indexes.
) WITH (fillfactor = 85);

-- One form makes one key, and so does one request that is sent again.
CREATE UNIQUE INDEX api_keys_idempotency_key_key ON api_keys (consumer_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
-- Keys that were asked for with an idempotency key of a request, the earliest first: retention forgets it.
CREATE INDEX api_keys_requested_idx ON api_keys (created_at) WHERE request_digest IS NOT NULL;
-- A consumer's keys, newest first (read backwards).
CREATE INDEX api_keys_consumer_id_id_idx ON api_keys (consumer_id, id);
-- A consumer's keys that may be valid by the day of their last use. It comes before the next index: of two indexes of the
-- same cost, PostgreSQL takes the one that was created last.
CREATE INDEX api_keys_used_idx ON api_keys (consumer_id, used_on_day, id) INCLUDE (revoked_at) WHERE end_came_at IS NULL;
-- A consumer's keys that may be valid, newest first; with the planned end, so that they are counted without the table.
CREATE INDEX api_keys_valid_idx ON api_keys (consumer_id, id) INCLUDE (revoked_at) WHERE end_came_at IS NULL;
-- An organization's keys, those that may be valid and those with an end, newest first (read backwards).
CREATE INDEX api_keys_organization_id_id_idx ON api_keys (organization_id, id);
CREATE INDEX api_keys_organization_valid_idx ON api_keys (organization_id, id) WHERE end_came_at IS NULL;
CREATE INDEX api_keys_organization_revoked_idx ON api_keys (organization_id, id) WHERE revoked_at IS NOT NULL;
-- An organization's keys that may be valid by how long they have been idle.
CREATE INDEX api_keys_organization_idle_idx ON api_keys (organization_id, idle_since_day, id) INCLUDE (revoked_at)
    WHERE end_came_at IS NULL;
-- An organization's keys with a planned end that is not recorded as come, the earliest first.
-- The condition is one that only queries of an organization have: while few ends are planned, PostgreSQL would also read this
-- index for those of all organizations.
CREATE INDEX api_keys_organization_end_idx ON api_keys (organization_id, revoked_at, id)
    WHERE revoked_at > '-infinity' AND end_came_at IS NULL;
-- An organization's keys that may be valid, those first whose trees began first.
CREATE INDEX api_keys_organization_tree_idx ON api_keys (organization_id, tree_began_at, id) WHERE end_came_at IS NULL;
-- The children of a key in its key tree: the keys that it created, and those of which it is the adoptive parent.
-- Not partial, though keys that no key created are of
-- no use here: PostgreSQL's planner passes over the statistics of a partial index.
CREATE INDEX api_keys_effective_parent_idx ON api_keys (coalesce(adoptive_parent_key_id, created_by_key_id));
-- Revoked keys, as retention removes them: the earliest revoked first and, of those that one act revoked, children before
-- their parents, who are older.
CREATE INDEX api_keys_revoked_at_idx ON api_keys (revoked_at, id DESC) WHERE revoked_at IS NOT NULL;
-- A consumer's ended keys in the same order: retention removes the first of them where there are too many.
CREATE INDEX api_keys_ended_idx ON api_keys (consumer_id, revoked_at, id DESC) WHERE end_came_at IS NOT NULL;
-- An organization's leaked keys by consumer, those revoked last first (read backwards).
CREATE INDEX api_keys_leaked_idx ON api_keys (organization_id, consumer_id, revoked_at, id DESC)
    WHERE revoked_reason = 'leak';
-- Keys that may be valid beside their successors.
CREATE INDEX api_keys_rotated_idx ON api_keys (rotated_to_key_id)
    WHERE rotated_to_key_id IS NOT NULL AND end_came_at IS NULL;
-- Keys with a planned end that is not recorded as come, the earliest first.
CREATE INDEX api_keys_planned_end_idx ON api_keys (revoked_at, id) WHERE revoked_at IS NOT NULL AND end_came_at IS NULL;

CREATE FUNCTION api_keys_organization() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.organization_id := (SELECT organization_id FROM memberships WHERE id = NEW.consumer_id);
    RETURN NEW;
END;
$$;
CREATE TRIGGER api_keys_organization BEFORE INSERT OR UPDATE OF consumer_id, organization_id ON api_keys
    FOR EACH ROW EXECUTE FUNCTION api_keys_organization();

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
    WHERE parent.id = coalesce(NEW.adoptive_parent_key_id, NEW.created_by_key_id) AND parent.consumer_id = NEW.consumer_id;
    NEW.tree_depth := coalesce(NEW.tree_depth, 0);
    RETURN NEW;
END;
$$;
-- An imported key comes with its place.
CREATE TRIGGER api_keys_line BEFORE INSERT ON api_keys
    FOR EACH ROW WHEN (coalesce(NEW.adoptive_parent_key_id, NEW.created_by_key_id) IS NOT NULL AND NEW.tree_depth = 0)
    EXECUTE FUNCTION api_keys_line();

CREATE FUNCTION api_keys_tree() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.tree_began_at := least(NEW.created_at, coalesce(
        (
            SELECT parent.tree_began_at FROM api_keys parent
            WHERE parent.id = coalesce(NEW.adoptive_parent_key_id, NEW.created_by_key_id)
                AND parent.consumer_id = NEW.consumer_id
        ),
        -- A forgotten parent is that of the key whose place this one takes.
        (
            SELECT before.tree_began_at FROM api_keys before
            WHERE before.id = NEW.rotated_from_key_id AND before.consumer_id = NEW.consumer_id
                AND coalesce(NEW.adoptive_parent_key_id, NEW.created_by_key_id) IS NOT NULL
        )
    ));
    RETURN NEW;
END;
$$;
-- An imported key comes with it.
CREATE TRIGGER api_keys_tree BEFORE INSERT ON api_keys
    FOR EACH ROW WHEN (NEW.tree_began_at = 'infinity')
    EXECUTE FUNCTION api_keys_tree();

CREATE FUNCTION api_keys_days() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.used_on_day := floor(extract(epoch FROM NEW.last_used_at) / 86400);
    NEW.idle_since_day := coalesce(NEW.used_on_day, floor(extract(epoch FROM NEW.created_at) / 86400));
    RETURN NEW;
END;
$$;
CREATE TRIGGER api_keys_days_of_new BEFORE INSERT ON api_keys
    FOR EACH ROW EXECUTE FUNCTION api_keys_days();
CREATE TRIGGER api_keys_days BEFORE UPDATE OF last_used_at ON api_keys
    FOR EACH ROW WHEN (floor(extract(epoch FROM NEW.last_used_at) / 86400) IS DISTINCT FROM OLD.used_on_day)
    EXECUTE FUNCTION api_keys_days();

-- What each key is searched by, in a table of its own: a revocation writes a new version of the key's row, and need not
-- write this index, too. Triggers keep it.
CREATE TABLE api_key_search (
    key_id uuid NOT NULL CONSTRAINT api_key_search_pkey PRIMARY KEY,
    organization_id uuid NOT NULL,
    search_text text NOT NULL
);

-- Every three characters that follow each other in the text, and the last two and the last one: a term of three or more
-- is in texts that have all of its threes, a shorter one in texts that have one that begins with it. Each behind six
-- digits of the organization, so that nobody's search goes through what others have. (It makes no difference if two
-- organizations share them: the text itself is compared at the end.) And behind the first 18 bits of the key's
-- identifier, which are the same for keys of 12 days (2^30 ms), as five digits. The index has no order, so a search reads
-- one such span of time after the other, the newest first, until it has found enough.
--
-- One of 64 letters stands for each character, so that the index has at most 64^3 threes of an organization and a span of
-- time: with the characters themselves, each key of whoever chose them at random from a large script took 39 kB in it. The
-- letters of most alphabets, the digits, the space and the hyphen get different ones.
CREATE FUNCTION search_span(key_id uuid) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT left(key_id::text, 4) || translate(substr(key_id::text, 5, 1), '1235679abdef', '000444888ccc')
$$;
CREATE FUNCTION search_grams(organization uuid, key_id uuid, search_text text) RETURNS tsvector
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE COST 10000 AS $$
DECLARE
    -- The span is not called by its name: pg_restore makes the index with an empty search path.
    prefix text := right(organization::text, 6)
        || left(key_id::text, 4) || translate(substr(key_id::text, 5, 1), '1235679abdef', '000444888ccc');
    grams text[] := '{}';
    second_last text := '';
    last text := '';
    next text;
BEGIN
    FOREACH next IN ARRAY string_to_array(search_text, NULL) LOOP
        next := chr(192 + (ascii(next) + 26 * (ascii(next) >> 6) & 63));
        IF second_last <> '' THEN
            grams := grams || (prefix || second_last || last || next);
        END IF;
        second_last := last;
        last := next;
    END LOOP;
    RETURN array_to_tsvector(grams || (prefix || second_last || last) || (prefix || last));
END;
$$;

-- Not fastupdate: its list of what is to be put into the index later is read by every search from one end to the other,
-- and whoever adds the key at which it is full puts all of it in while others wait.
CREATE INDEX api_key_search_grams_idx ON api_key_search USING gin (search_grams(organization_id, key_id, search_text))
    WITH (fastupdate = off);

CREATE FUNCTION api_keys_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM api_key_search WHERE key_id = OLD.id;
    ELSE
        INSERT INTO api_key_search (key_id, organization_id, search_text)
            VALUES (NEW.id, NEW.organization_id, NEW.search_text)
            ON CONFLICT (key_id) DO UPDATE SET search_text = excluded.search_text;
    END IF;
    RETURN NULL;
END;
$$;
CREATE TRIGGER api_keys_search AFTER INSERT OR DELETE ON api_keys
    FOR EACH ROW EXECUTE FUNCTION api_keys_search();
CREATE TRIGGER api_keys_search_edited AFTER UPDATE OF search_text ON api_keys
    FOR EACH ROW WHEN (NEW.search_text <> OLD.search_text) EXECUTE FUNCTION api_keys_search();

---------------------------------------------------------------- What happened

CREATE TABLE audit_events (
    id uuid NOT NULL CONSTRAINT audit_events_pkey PRIMARY KEY,
    -- The log in the order of commits: see announce_audit_events. Numbers are made by default, and not always, since a
    -- server finds out whether it may write events by a statement that names all columns and writes none.
    position bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY
        CONSTRAINT audit_events_position_key UNIQUE,
    occurred_at timestamptz NOT NULL,
    -- No foreign keys: what happened stays true when what it happened to is gone.
    organization_id uuid,
    actor_kind text NOT NULL
        CONSTRAINT audit_events_actor_kind_check
        CHECK (actor_kind IN ('user', 'api_key', 'administrator', 'system', 'anonymous')),
    actor_id uuid,
    -- The form only, here and below: every version adds actions and what they are about, and must not need to check the
    -- whole history for it.
    action text NOT NULL
        CONSTRAINT audit_events_action_check CHECK (action ~ '^[a-z_]+\.[a-z_]+$'),
    subject_kind text NOT NULL
        CONSTRAINT audit_events_subject_kind_check CHECK (subject_kind ~ '^[a-z_]+$'),
    subject_id uuid,
    -- What else the event is about.
    object_kind text
        CONSTRAINT audit_events_object_kind_check CHECK (object_kind ~ '^[a-z_]+$'),
    object_id uuid,
    -- What was there before and after, of a change of one value.
    old_value text,
    new_value text,
    outcome text NOT NULL
        CONSTRAINT audit_events_outcome_check CHECK (outcome IN ('success', 'refused')),
    source_address text,
    request_id text,
    CONSTRAINT audit_events_actor_id_check
        CHECK ((actor_id IS NOT NULL) = (actor_kind IN ('user', 'api_key'))),
    CONSTRAINT audit_events_subject_id_check
        CHECK ((subject_id IS NOT NULL) = (subject_kind <> 'installation')),
    CONSTRAINT audit_events_object_check CHECK ((object_kind IS NULL) = (object_id IS NULL))
);

-- What happened to an organization is read by moment, latest first (each index backwards): all of it, what one actor
-- did, one action, and what something was in. Moments are those that the events tell; identifiers are made by several
-- clocks.
CREATE INDEX audit_events_organization_idx ON audit_events (organization_id, occurred_at, id)
    WHERE organization_id IS NOT NULL;
CREATE INDEX audit_events_actor_idx ON audit_events (organization_id, actor_id, occurred_at, id)
    WHERE organization_id IS NOT NULL AND actor_id IS NOT NULL;
CREATE INDEX audit_events_nameless_actor_idx ON audit_events (organization_id, actor_kind, occurred_at, id)
    WHERE organization_id IS NOT NULL AND actor_id IS NULL;
CREATE INDEX audit_events_action_idx ON audit_events (organization_id, action, occurred_at, id)
    WHERE organization_id IS NOT NULL;
CREATE INDEX audit_events_subject_idx ON audit_events (organization_id, subject_id, occurred_at, id)
    WHERE organization_id IS NOT NULL AND subject_id IS NOT NULL;
CREATE INDEX audit_events_object_idx ON audit_events (organization_id, object_id, occurred_at, id)
    WHERE organization_id IS NOT NULL AND object_id IS NOT NULL;
-- The events of no organization, latest first: all, and what happened to one user or session, since people see the refused
-- attempts at their password. Few of these events have an object.
CREATE INDEX audit_events_installation_idx ON audit_events (occurred_at, id) WHERE organization_id IS NULL;
CREATE INDEX audit_events_installation_subject_idx ON audit_events (subject_id, occurred_at, id)
    WHERE organization_id IS NULL AND subject_id IS NOT NULL;
CREATE INDEX audit_events_installation_object_idx ON audit_events (object_id, occurred_at, id)
    WHERE organization_id IS NULL AND object_id IS NOT NULL;

-- Audit events are never changed, and are removed only by a transaction that says until when, and only those from before
-- that. Whatever a transaction says: events of the last 30 days by the clock of this server stay.
CREATE FUNCTION refuse_to_change_audit_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit_events is append-only: % is refused', TG_OP USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER audit_events_append_only BEFORE UPDATE OR TRUNCATE ON audit_events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_to_change_audit_events();
-- After a transaction that set it, a setting is not absent but empty.
CREATE TRIGGER audit_events_kept BEFORE DELETE ON audit_events
    FOR EACH ROW
    WHEN (OLD.occurred_at >= least(
        coalesce(
            nullif(current_setting('keyward.audit_events_removable_before', true), '')::timestamptz, '-infinity'),
        now() - interval '30 days'))
    EXECUTE FUNCTION refuse_to_change_audit_events();

-- Which log the numbers are of, and up to which number events were removed for their age.
CREATE TABLE audit_feed (
    -- There is one row: this column can hold one value.
    only_row boolean NOT NULL
        CONSTRAINT audit_feed_pkey PRIMARY KEY
        CONSTRAINT audit_feed_only_row_check CHECK (only_row),
    log_id text NOT NULL
        CONSTRAINT audit_feed_log_id_check CHECK (log_id ~ '^[0-9a-f]{8}$'),
    removed_through bigint NOT NULL
);

INSERT INTO audit_feed (only_row, log_id, removed_through)
    VALUES (true, left(gen_random_uuid()::text, 8), 0);

-- A transaction takes its numbers before it commits, so a lower number may become visible after a higher one. Before its
-- first number, each transaction therefore announces a number that all of its own are above, by a shared advisory lock
-- that it holds to its end: 1635083369 (ASCII: `audi`) and the number's lower 31 bits. Nobody ever waits for that lock.
-- Whoever reads the log in order reads no further than the lowest number that is announced. A setting says to further
-- statements of the transaction that it is done; it ends with the transaction, or with a savepoint, as the lock does.
CREATE FUNCTION announce_audit_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF coalesce(current_setting('keyward.audit_events_announced', true), '') = '' THEN
        PERFORM pg_advisory_xact_lock_shared(
            1635083369,
            (SELECT coalesce(max(position), 0) % 2147483648 FROM audit_events)::integer);
        PERFORM set_config('keyward.audit_events_announced', 'yes', true);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER audit_events_announced BEFORE INSERT ON audit_events
    FOR EACH STATEMENT EXECUTE FUNCTION announce_audit_events();

CREATE FUNCTION note_removed_audit_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE audit_feed SET removed_through = removed.last
        FROM (SELECT max(position) AS last FROM removed_events) removed
        WHERE removed.last > removed_through;
    RETURN NULL;
END
$$;
CREATE TRIGGER audit_events_removed AFTER DELETE ON audit_events
    REFERENCING OLD TABLE AS removed_events
    FOR EACH STATEMENT EXECUTE FUNCTION note_removed_audit_events();

-- Also for a session that replays changes (session_replication_role = replica).
ALTER TABLE audit_events
    ENABLE ALWAYS TRIGGER audit_events_append_only,
    ENABLE ALWAYS TRIGGER audit_events_kept,
    ENABLE ALWAYS TRIGGER audit_events_announced,
    ENABLE ALWAYS TRIGGER audit_events_removed;

---------------------------------------------------------------- Signing in

-- Sessions and the throttle are updated in place all the time: room on each page keeps those updates off the indexes.
CREATE TABLE sessions (
    id uuid NOT NULL CONSTRAINT sessions_pkey PRIMARY KEY,
    user_id uuid NOT NULL
        CONSTRAINT sessions_user_id_fkey REFERENCES users (id),
    -- SHA-256 of the cookie's secret, which is stored nowhere.
    digest bytea NOT NULL
        CONSTRAINT sessions_digest_key UNIQUE
        CONSTRAINT sessions_digest_check CHECK (octet_length(digest) = 32),
    started_at timestamptz NOT NULL,
    started_from text,
    user_agent text,
    last_seen_at timestamptz NOT NULL
) WITH (fillfactor = 80);

-- The sessions that end with a user's password.
CREATE INDEX sessions_user_id_idx ON sessions (user_id);

CREATE TABLE sign_in_throttle (
    bucket bytea NOT NULL
        CONSTRAINT sign_in_throttle_pkey PRIMARY KEY
        CONSTRAINT sign_in_throttle_bucket_check CHECK (octet_length(bucket) = 32),
    empty_at timestamptz NOT NULL
) WITH (fillfactor = 50);

-- Buckets that ran empty. Every attempt to sign in changes this index, in spite of the room on the table's pages: that is
-- little beside the work on a password.
CREATE INDEX sign_in_throttle_empty_at_idx ON sign_in_throttle (empty_at);

---------------------------------------------------------------- The installation itself

CREATE TABLE installation (
    -- There is one row: this column can hold one value.
    only_row boolean NOT NULL DEFAULT true
        CONSTRAINT installation_pkey PRIMARY KEY
        CONSTRAINT installation_only_row_check CHECK (only_row),
    set_up_at timestamptz,
    setup_link_digest bytea
        CONSTRAINT installation_setup_link_digest_check CHECK (octet_length(setup_link_digest) = 32),
    setup_link_expires_at timestamptz,
    -- What the cookies of browsers in which somebody signed in before are signed with; made at the first sign-in.
    browser_key bytea
        CONSTRAINT installation_browser_key_check CHECK (octet_length(browser_key) = 32),
    CONSTRAINT installation_setup_link_check CHECK (num_nonnulls(setup_link_digest, setup_link_expires_at) IN (0, 2)),
    CONSTRAINT installation_set_up_check CHECK (set_up_at IS NULL OR setup_link_digest IS NULL)
);

INSERT INTO installation DEFAULT VALUES;

-- How late it was when the clock was believed the last time, before anything was removed by it; before the first look, when
-- the tables were made. Else the first look would ask nobody but the clock in question.
CREATE TABLE retention_clock (
    -- There is one row: this column can hold one value.
    only_row boolean NOT NULL
        CONSTRAINT retention_clock_pkey PRIMARY KEY
        CONSTRAINT retention_clock_only_row_check CHECK (only_row),
    believed_at timestamptz NOT NULL
);

INSERT INTO retention_clock (only_row, believed_at) VALUES (true, clock_timestamp());

---------------------------------------------------------------- Verifications kept in memory

-- The number of the newest change of what keys may do or reach. Every transaction that makes such changes raises it, last of
-- all before it commits, so that nobody who holds this row waits for anything else.
CREATE TABLE access_counter (
    -- There is one row: this column can hold one value.
    only_row boolean NOT NULL
        CONSTRAINT access_counter_pkey PRIMARY KEY
        CONSTRAINT access_counter_only_row_check CHECK (only_row),
    number bigint NOT NULL
        CONSTRAINT access_counter_number_check CHECK (number >= 0)
) WITH (fillfactor = 50);

INSERT INTO access_counter (only_row, number) VALUES (true, 0);

-- Whose keys each change is about. The newest thousand stay; whoever has seen fewer forgets everything.
CREATE TABLE access_changes (
    number bigint NOT NULL CONSTRAINT access_changes_pkey PRIMARY KEY,
    concerns_kind text NOT NULL
        CONSTRAINT access_changes_concerns_kind_check
        CHECK (concerns_kind IN ('api_key', 'consumer', 'organization', 'everyone')),
    concerns_id uuid,
    CONSTRAINT access_changes_concerns_id_check CHECK ((concerns_id IS NULL) = (concerns_kind = 'everyone'))
);

-- The servers that keep verifications in memory, and up to which number each has seen the changes.
CREATE TABLE replicas (
    id uuid NOT NULL CONSTRAINT replicas_pkey PRIMARY KEY,
    name text NOT NULL,
    acknowledged bigint NOT NULL
        CONSTRAINT replicas_acknowledged_check CHECK (acknowledged >= 0)
) WITH (fillfactor = 50);

-- Which versions of Keyward can work with these tables, for versions that do not know the newest migrations: all that
-- know the migration `minimum_reader`. A breaking migration sets it to its own version; an additive one leaves it.
CREATE TABLE schema_compatibility (
    -- There is one row: this column can hold one value.
    only_row boolean NOT NULL
        CONSTRAINT schema_compatibility_pkey PRIMARY KEY
        CONSTRAINT schema_compatibility_only_row_check CHECK (only_row),
    minimum_reader text NOT NULL
        CONSTRAINT schema_compatibility_minimum_reader_check CHECK (minimum_reader ~ '^[0-9]{14}$')
);

INSERT INTO schema_compatibility (only_row, minimum_reader) VALUES (true, '20261127000000');

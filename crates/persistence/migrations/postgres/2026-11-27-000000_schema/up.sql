-- Kind: additive

-- All tables of an installation: organizations and people, invitations and projects, keys, the audit log, sessions, and the
-- state of the servers.
--
-- Rules about a single row are CHECKs, so that no client of the database can bypass them. Only the domain validates texts
-- that people write; the CHECKs list the values of enumerations. Names sort by code point (COLLATE "C"), alike on every
-- server. Every constraint has a name, by which the code tells errors apart.

---------------------------------------------------------------- Organizations and people

CREATE TABLE organizations (
    id uuid NOT NULL CONSTRAINT organizations_pkey PRIMARY KEY,
    slug text COLLATE "C" NOT NULL CONSTRAINT organizations_slug_key UNIQUE,
    name text COLLATE "C" NOT NULL,
    -- Whether a new key may manage keys, if the request does not say.
    new_keys_manage_keys boolean NOT NULL DEFAULT true,
    -- The maximum lifetime of new keys in days; null for no maximum.
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
    -- A time in the future is a planned end.
    ended_at timestamptz,
    -- When the end was recorded: when the membership was ended at once, or after its planned end had come. From then on the
    -- membership has ended, by every server's clock. While it is null, queries compare ended_at with the time that they are
    -- given; so indexes of what may be valid have the condition that it is null.
    end_came_at timestamptz,
    -- Set when retention has removed the last key of this ended membership that was never revoked: the time before which it
    -- then removed dead keys. An ended membership gets no new keys, so retention skips it from then on.
    keys_removed_at timestamptz,
    -- When the leaky bucket that limits how often keys are created and edited is empty; null before the first change.
    changes_empty_at timestamptz,
    CONSTRAINT memberships_end_came_at_check CHECK (end_came_at IS NULL OR ended_at IS NOT NULL),
    CONSTRAINT memberships_keys_removed_at_check CHECK (keys_removed_at IS NULL OR ended_at IS NOT NULL)
);

-- A user who returns gets a new membership, but never has two live ones in one organization.
CREATE UNIQUE INDEX memberships_live_key ON memberships (organization_id, user_id) WHERE end_came_at IS NULL;
-- The organizations of a user.
CREATE INDEX memberships_user_id_idx ON memberships (user_id);
-- All memberships of an organization; and those that may be live, the newest first (read backwards).
CREATE INDEX memberships_organization_idx ON memberships (organization_id);
CREATE INDEX memberships_organization_id_id_idx ON memberships (organization_id, id) WHERE end_came_at IS NULL;
-- Ended memberships that may have keys that were never revoked, in the order in which retention removes these keys: the
-- earliest end first.
CREATE INDEX memberships_ended_at_idx ON memberships (ended_at, id) WHERE ended_at IS NOT NULL AND keys_removed_at IS NULL;
-- Memberships with a planned end that is not recorded yet, the earliest end first.
CREATE INDEX memberships_planned_end_idx ON memberships (ended_at, id) WHERE ended_at IS NOT NULL AND end_came_at IS NULL;

---------------------------------------------------------------- Invitations and projects

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
    -- The idempotency key of the form that made it, which makes no second one. Null for invitations that no form made.
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
-- Invitations by when they were accepted, were revoked or expire: retention removes them some time after that.
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

-- A consumer's keys reach the projects of its rows; the primary key finds these, newest first.
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
    -- The organization of the consumer, which never changes; it is repeated here for the indexes of an organization's keys.
    -- The trigger api_keys_organization copies it from the membership. No foreign key, because each new key would lock its
    -- organization's row.
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
    -- Whether the key may create keys, and read and change the other keys of its consumer. It never changes.
    can_manage_keys boolean NOT NULL DEFAULT true,

    -- Exactly one of these two is set: the user who created the key in the console, or its parent, the key that created it
    -- through the API.
    created_by_user_id uuid
        CONSTRAINT api_keys_created_by_user_id_fkey REFERENCES users (id),
    -- No foreign key: a parent may be removed before its children.
    created_by_key_id uuid,
    -- The key that this one is below in its key tree, if that is not its parent: the key that rotated another one to it or,
    -- if retention removed the key above, the nearest ancestor that is still stored. No foreign key: the transaction that
    -- removes that key sets a new value.
    adoptive_parent_key_id uuid,
    -- The depth of the key in its key tree, and a skip pointer to one of its ancestors: with both, any ancestor is found in
    -- a number of steps that grows with the logarithm of the depth (E. W. Myers, "An applicative random-access stack",
    -- 1983). The trigger api_keys_line sets both, and neither ever changes. A key without a parent has depth 0 and no skip
    -- pointer. No foreign key: if retention removed the key that the skip pointer names, a search takes the next key above
    -- instead.
    tree_depth integer NOT NULL DEFAULT 0,
    skip_key_id uuid,
    -- The key that was rotated to this one, and the key that this one was rotated to. No foreign keys: either may be
    -- removed before the other.
    rotated_from_key_id uuid,
    rotated_to_key_id uuid,
    -- The idempotency key of the form or of the API request that created the key. That of a request comes with a digest of
    -- what was requested; retention sets both to null after 25 hours.
    idempotency_key bytea
        CONSTRAINT api_keys_idempotency_key_check CHECK (octet_length(idempotency_key) = 16),
    request_digest bytea
        CONSTRAINT api_keys_request_digest_check CHECK (octet_length(request_digest) = 16),
    created_at timestamptz NOT NULL,
    -- When the first key of the key tree was created; retention may have removed that key. The trigger api_keys_tree
    -- replaces the default with it. It never changes.
    tree_began_at timestamptz NOT NULL DEFAULT 'infinity',

    last_used_at timestamptz,
    -- Also null if the address of the last use is unknown.
    last_used_from text,
    -- The day (UTC, counted from 1970) on which the key was last used or, if it never was, created. It is a day and not a
    -- time, so that the index on it changes at most once a day for each key, not with every recorded use. Triggers maintain
    -- it.
    idle_since_day integer NOT NULL,
    -- The day on which the key was last used, in the same unit; null if it never was.
    used_on_day integer,

    -- These two are like ended_at and end_came_at of a membership: revoked_at in the future is a planned end.
    revoked_at timestamptz,
    end_came_at timestamptz,
    revoked_by_kind text
        CONSTRAINT api_keys_revoked_by_kind_check
        CHECK (revoked_by_kind IN ('user', 'api_key', 'administrator', 'system', 'anonymous')),
    revoked_by_id uuid,
    revoked_reason text
        CONSTRAINT api_keys_revoked_reason_check
        CHECK (revoked_reason IN ('holder', 'owner', 'leak', 'administrator', 'expired', 'rotation')),
    -- A note to the holder: the reason that an owner or an administrator gave, or where a leaked token was found.
    revoked_note text,

    CONSTRAINT api_keys_origin_check CHECK (num_nonnulls(created_by_user_id, created_by_key_id) = 1),
    CONSTRAINT api_keys_request_check CHECK (request_digest IS NULL OR idempotency_key IS NOT NULL),
    CONSTRAINT api_keys_last_used_check CHECK (last_used_from IS NULL OR last_used_at IS NOT NULL),
    CONSTRAINT api_keys_end_came_at_check CHECK (end_came_at IS NULL OR revoked_at IS NOT NULL),
    CONSTRAINT api_keys_revocation_check CHECK (num_nonnulls(revoked_at, revoked_by_kind, revoked_reason) IN (0, 3)),
    CONSTRAINT api_keys_revoked_by_id_check
        CHECK ((revoked_by_id IS NOT NULL) = (coalesce(revoked_by_kind, '') IN ('user', 'api_key'))),
    CONSTRAINT api_keys_revoked_note_check CHECK (revoked_note IS NULL OR revoked_at IS NOT NULL)
    -- The last use is updated up to once a minute; with free space on each page, most of these are heap-only updates.
) WITH (fillfactor = 85);

-- A form or a request with an idempotency key creates one key, however often it is sent.
CREATE UNIQUE INDEX api_keys_idempotency_key_key ON api_keys (consumer_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
-- Keys with the idempotency key of a request, the oldest first: retention removes idempotency keys in this order.
CREATE INDEX api_keys_requested_idx ON api_keys (created_at) WHERE request_digest IS NOT NULL;
-- A consumer's keys, newest first (read backwards).
CREATE INDEX api_keys_consumer_id_id_idx ON api_keys (consumer_id, id);
-- A consumer's keys that may be valid, by the day of their last use. Created before the next index, because PostgreSQL
-- prefers the later one of two indexes with the same cost.
CREATE INDEX api_keys_used_idx ON api_keys (consumer_id, used_on_day, id) INCLUDE (revoked_at) WHERE end_came_at IS NULL;
-- A consumer's keys that may be valid, newest first; with the planned end, so that an index-only scan counts them.
CREATE INDEX api_keys_valid_idx ON api_keys (consumer_id, id) INCLUDE (revoked_at) WHERE end_came_at IS NULL;
-- All keys of an organization, those that may be valid, and those with an end, each newest first (read backwards).
CREATE INDEX api_keys_organization_id_id_idx ON api_keys (organization_id, id);
CREATE INDEX api_keys_organization_valid_idx ON api_keys (organization_id, id) WHERE end_came_at IS NULL;
CREATE INDEX api_keys_organization_revoked_idx ON api_keys (organization_id, id) WHERE revoked_at IS NOT NULL;
-- An organization's keys that may be valid, the longest unused first.
CREATE INDEX api_keys_organization_idle_idx ON api_keys (organization_id, idle_since_day, id) INCLUDE (revoked_at)
    WHERE end_came_at IS NULL;
-- An organization's keys with a planned end that is not recorded yet, the earliest end first. The condition is `revoked_at
-- > '-infinity'`, which only queries about one organization contain: with `IS NOT NULL`, PostgreSQL would also choose this
-- index for queries about all organizations while few ends are planned.
CREATE INDEX api_keys_organization_end_idx ON api_keys (organization_id, revoked_at, id)
    WHERE revoked_at > '-infinity' AND end_came_at IS NULL;
-- An organization's keys that may be valid, those of the oldest key trees first.
CREATE INDEX api_keys_organization_tree_idx ON api_keys (organization_id, tree_began_at, id) WHERE end_came_at IS NULL;
-- The children of a key in its key tree: the keys that it created, and those of which it is the adoptive parent.
-- It also contains keys without a parent, because PostgreSQL's planner does not use the statistics of a partial index.
CREATE INDEX api_keys_effective_parent_idx ON api_keys (coalesce(adoptive_parent_key_id, created_by_key_id));
-- Revoked keys in the order in which retention removes them: the earliest revoked first and, of keys revoked at the same
-- time, children before their older parents.
CREATE INDEX api_keys_revoked_at_idx ON api_keys (revoked_at, id DESC) WHERE revoked_at IS NOT NULL;
-- A consumer's ended keys in the same order: if there are too many, retention removes the first ones.
CREATE INDEX api_keys_ended_idx ON api_keys (consumer_id, revoked_at, id DESC) WHERE end_came_at IS NOT NULL;
-- An organization's leaked keys by consumer, those revoked last first (read backwards).
CREATE INDEX api_keys_leaked_idx ON api_keys (organization_id, consumer_id, revoked_at, id DESC)
    WHERE revoked_reason = 'leak';
-- Rotated keys that may still be valid, by their successors.
CREATE INDEX api_keys_rotated_idx ON api_keys (rotated_to_key_id)
    WHERE rotated_to_key_id IS NOT NULL AND end_came_at IS NULL;
-- Keys with a planned end that is not recorded yet, the earliest end first.
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
    -- If the parent's skip and the next one have the same length, the new key skips both; else it points to its parent.
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
-- An imported key has its depth already.
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
        -- If the parent was removed, it was also that of the key that was rotated to this one.
        (
            SELECT before.tree_began_at FROM api_keys before
            WHERE before.id = NEW.rotated_from_key_id AND before.consumer_id = NEW.consumer_id
                AND coalesce(NEW.adoptive_parent_key_id, NEW.created_by_key_id) IS NOT NULL
        )
    ));
    RETURN NEW;
END;
$$;
-- An imported key has its value already.
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

-- The searched texts of keys, in a table of their own: a revocation writes a new version of the key's row, but need not
-- write the search index. Triggers maintain it.
CREATE TABLE api_key_search (
    key_id uuid NOT NULL CONSTRAINT api_key_search_pkey PRIMARY KEY,
    organization_id uuid NOT NULL,
    search_text text NOT NULL
);

-- The trigrams of a text, its last two characters, and its last one. A term of three or more characters can only be in
-- texts that have all trigrams of the term; a shorter one only in texts with an entry that begins with it. Each entry is
-- prefixed with six digits of the organization's identifier, so that a search does not read entries of other organizations.
-- (Two organizations may share these digits, because the text itself is compared at the end.) After them come five digits,
-- the first 18 bits of the key's identifier, which all keys created within a span of 12 days (2^30 ms) share. The index has
-- no order, so a search reads one span after the other, the newest first, until it has found enough.
--
-- Each character is mapped to one of 64 letters, so that the index has at most 64^3 trigrams of an organization and a span:
-- with the characters themselves, a key whose text was chosen at random from a large script took 39 kB in it. In most
-- alphabets, the letters, the digits, the space and the hyphen are mapped to different ones.
CREATE FUNCTION search_span(key_id uuid) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT left(key_id::text, 4) || translate(substr(key_id::text, 5, 1), '1235679abdef', '000444888ccc')
$$;
CREATE FUNCTION search_grams(organization uuid, key_id uuid, search_text text) RETURNS tsvector
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE COST 10000 AS $$
DECLARE
    -- Repeats search_span instead of calling it, because pg_restore creates the index with an empty search path.
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

-- Without fastupdate: every search would scan its whole pending list, and the insertion that fills the list would move all
-- of it into the index while others wait.
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

---------------------------------------------------------------- Audit log

CREATE TABLE audit_events (
    id uuid NOT NULL CONSTRAINT audit_events_pkey PRIMARY KEY,
    -- The event's number, by which programs follow the log: see announce_audit_events. BY DEFAULT instead of ALWAYS,
    -- because a server tests whether it may write events with a statement that names all columns and writes no row.
    position bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY
        CONSTRAINT audit_events_position_key UNIQUE,
    occurred_at timestamptz NOT NULL,
    -- No foreign keys: events stay when what they are about is removed.
    organization_id uuid,
    actor_kind text NOT NULL
        CONSTRAINT audit_events_actor_kind_check
        CHECK (actor_kind IN ('user', 'api_key', 'administrator', 'system', 'anonymous')),
    actor_id uuid,
    -- Here and below, only the form is checked: each version adds actions and subjects, and must not have to validate all
    -- existing rows for a new constraint.
    action text NOT NULL
        CONSTRAINT audit_events_action_check CHECK (action ~ '^[a-z_]+\.[a-z_]+$'),
    subject_kind text NOT NULL
        CONSTRAINT audit_events_subject_kind_check CHECK (subject_kind ~ '^[a-z_]+$'),
    subject_id uuid,
    -- What else the event is about.
    object_kind text
        CONSTRAINT audit_events_object_kind_check CHECK (object_kind ~ '^[a-z_]+$'),
    object_id uuid,
    -- Of a change of one value: the value before and after.
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

-- An organization's events, the latest first (each index is read backwards): all, those of one actor, those of one action,
-- and those about one subject or object. Ordered by the events' own times, because identifiers come from the clocks of
-- several servers.
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
-- The events of no organization, the latest first: all, and those about one user or session, since users see the refused
-- attempts at their password. Few of these events have an object.
CREATE INDEX audit_events_installation_idx ON audit_events (occurred_at, id) WHERE organization_id IS NULL;
CREATE INDEX audit_events_installation_subject_idx ON audit_events (subject_id, occurred_at, id)
    WHERE organization_id IS NULL AND subject_id IS NOT NULL;
CREATE INDEX audit_events_installation_object_idx ON audit_events (object_id, occurred_at, id)
    WHERE organization_id IS NULL AND object_id IS NOT NULL;

-- Audit events are never changed. A transaction may only remove those from before the time to which it has set
-- keyward.audit_events_removable_before, and none of the last 30 days by the clock of this server.
CREATE FUNCTION refuse_to_change_audit_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit_events is append-only: % is refused', TG_OP USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER audit_events_append_only BEFORE UPDATE OR TRUNCATE ON audit_events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_to_change_audit_events();
-- After the transaction that set it, a setting is the empty string, not null.
CREATE TRIGGER audit_events_kept BEFORE DELETE ON audit_events
    FOR EACH ROW
    WHEN (OLD.occurred_at >= least(
        coalesce(
            nullif(current_setting('keyward.audit_events_removable_before', true), '')::timestamptz, '-infinity'),
        now() - interval '30 days'))
    EXECUTE FUNCTION refuse_to_change_audit_events();

-- The identifier of the log, and the number up to which events were removed because of their age.
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

-- A transaction gets its numbers before it commits, so a lower number may become visible after a higher one. Before its
-- first number, each transaction therefore announces a number below all its own, by a shared advisory lock that it holds
-- until it ends: 1635083369 (ASCII: `audi`) and the number's lower 31 bits. No transaction waits for that lock. A reader
-- that follows the log stops at the lowest announced number. The setting keyward.audit_events_announced tells further
-- statements of the transaction that this is done; like the lock, it ends with the transaction, or with a rollback to a
-- savepoint.
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

-- Also in sessions that apply replicated changes (session_replication_role = replica).
ALTER TABLE audit_events
    ENABLE ALWAYS TRIGGER audit_events_append_only,
    ENABLE ALWAYS TRIGGER audit_events_kept,
    ENABLE ALWAYS TRIGGER audit_events_announced,
    ENABLE ALWAYS TRIGGER audit_events_removed;

---------------------------------------------------------------- Signing in

-- Rows of sessions and sign_in_throttle are updated often: each page has free space for the new versions of its rows.
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

-- The sessions of a user: a new password ends them, except the one in which the user changes it.
CREATE INDEX sessions_user_id_idx ON sessions (user_id);

CREATE TABLE sign_in_throttle (
    bucket bytea NOT NULL
        CONSTRAINT sign_in_throttle_pkey PRIMARY KEY
        CONSTRAINT sign_in_throttle_bucket_check CHECK (octet_length(bucket) = 32),
    empty_at timestamptz NOT NULL
) WITH (fillfactor = 50);

-- Buckets by when they are empty: retention removes the empty ones. Every sign-in attempt updates this index, which costs
-- little beside hashing the password.
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
    -- Signs the cookies that mark browsers in which a user signed in before; created at the first sign-in.
    browser_key bytea
        CONSTRAINT installation_browser_key_check CHECK (octet_length(browser_key) = 32),
    CONSTRAINT installation_setup_link_check CHECK (num_nonnulls(setup_link_digest, setup_link_expires_at) IN (0, 2)),
    CONSTRAINT installation_set_up_check CHECK (set_up_at IS NULL OR setup_link_digest IS NULL)
);

INSERT INTO installation DEFAULT VALUES;

-- The time when retention last trusted a clock. Before its first check, this is the time when the tables were created, so
-- that the first check also has a time to compare the clock with.
CREATE TABLE retention_clock (
    -- There is one row: this column can hold one value.
    only_row boolean NOT NULL
        CONSTRAINT retention_clock_pkey PRIMARY KEY
        CONSTRAINT retention_clock_only_row_check CHECK (only_row),
    believed_at timestamptz NOT NULL
);

INSERT INTO retention_clock (only_row, believed_at) VALUES (true, clock_timestamp());

---------------------------------------------------------------- Verifications kept in memory

-- The number of the newest change of what keys may do or reach. Every transaction that makes such changes raises it as its
-- last statement before it commits, so that no transaction that has locked this row waits for another lock.
CREATE TABLE access_counter (
    -- There is one row: this column can hold one value.
    only_row boolean NOT NULL
        CONSTRAINT access_counter_pkey PRIMARY KEY
        CONSTRAINT access_counter_only_row_check CHECK (only_row),
    number bigint NOT NULL
        CONSTRAINT access_counter_number_check CHECK (number >= 0)
) WITH (fillfactor = 50);

INSERT INTO access_counter (only_row, number) VALUES (true, 0);

-- Whose keys each change concerns. The newest thousand are kept; a replica that has missed older ones empties its cache.
CREATE TABLE access_changes (
    number bigint NOT NULL CONSTRAINT access_changes_pkey PRIMARY KEY,
    concerns_kind text NOT NULL
        CONSTRAINT access_changes_concerns_kind_check
        CHECK (concerns_kind IN ('api_key', 'consumer', 'organization', 'everyone')),
    concerns_id uuid,
    CONSTRAINT access_changes_concerns_id_check CHECK ((concerns_id IS NULL) = (concerns_kind = 'everyone'))
);

-- The servers that keep verifications in memory, and the number up to which each has seen the changes.
CREATE TABLE replicas (
    id uuid NOT NULL CONSTRAINT replicas_pkey PRIMARY KEY,
    name text NOT NULL,
    acknowledged bigint NOT NULL
        CONSTRAINT replicas_acknowledged_check CHECK (acknowledged >= 0)
) WITH (fillfactor = 50);

-- The migration that a version of Keyward must know to work with these tables; it need not know newer ones. A breaking
-- migration sets it to its own version; an additive one does not change it.
CREATE TABLE schema_compatibility (
    -- There is one row: this column can hold one value.
    only_row boolean NOT NULL
        CONSTRAINT schema_compatibility_pkey PRIMARY KEY
        CONSTRAINT schema_compatibility_only_row_check CHECK (only_row),
    minimum_reader text NOT NULL
        CONSTRAINT schema_compatibility_minimum_reader_check CHECK (minimum_reader ~ '^[0-9]{14}$')
);

INSERT INTO schema_compatibility (only_row, minimum_reader) VALUES (true, '20261127000000');

-- Kind: additive

-- All tables of an installation: organizations and people, invitations and projects, keys, the audit log, sessions, and the
-- state of the servers.
--
-- Rules about a single row are CHECKs, so that no client of the database can bypass them. Only the domain validates texts
-- that people write; the CHECKs list the values of enumerations. Every constraint has a name, by which the code tells
-- errors apart.
--
-- Identifiers are stored as 16 bytes, which sort like the identifiers. Times are integers, milliseconds since 1970: they
-- sort by time, as texts would only in one format. Texts sort by code point.

---------------------------------------------------------------- Organizations and people

CREATE TABLE organizations (
    id BLOB NOT NULL CONSTRAINT organizations_pkey PRIMARY KEY
        CONSTRAINT organizations_id_check CHECK (length(id) = 16),
    slug TEXT NOT NULL CONSTRAINT organizations_slug_key UNIQUE,
    name TEXT NOT NULL,
    -- Whether a new key may manage keys, if the request does not say.
    new_keys_manage_keys INTEGER NOT NULL DEFAULT 1
        CONSTRAINT organizations_new_keys_manage_keys_check CHECK (new_keys_manage_keys IN (0, 1)),
    -- The maximum lifetime of new keys in days; null for no maximum.
    longest_key_life_days INTEGER
        CONSTRAINT organizations_longest_key_life_days_check CHECK (longest_key_life_days BETWEEN 1 AND 3650),
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE users (
    id BLOB NOT NULL CONSTRAINT users_pkey PRIMARY KEY
        CONSTRAINT users_id_check CHECK (length(id) = 16),
    username TEXT NOT NULL CONSTRAINT users_username_key UNIQUE,
    display_name TEXT NOT NULL,
    -- Username and display name, folded by the domain.
    search_text TEXT NOT NULL,
    password_hash TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

-- A user's membership of an organization, which is the consumer of its keys.
CREATE TABLE memberships (
    id BLOB NOT NULL CONSTRAINT memberships_pkey PRIMARY KEY
        CONSTRAINT memberships_id_check CHECK (length(id) = 16),
    organization_id BLOB NOT NULL
        CONSTRAINT memberships_organization_id_fkey REFERENCES organizations (id),
    user_id BLOB NOT NULL
        CONSTRAINT memberships_user_id_fkey REFERENCES users (id),
    role TEXT NOT NULL
        CONSTRAINT memberships_role_check CHECK (role IN ('owner', 'member')),
    joined_at INTEGER NOT NULL,
    -- A time in the future is a planned end.
    ended_at INTEGER,
    -- When the end was recorded: when the membership was ended at once, or after its planned end had come. From then on the
    -- membership has ended, by every server's clock. While it is null, queries compare ended_at with the time that they are
    -- given; so indexes of what may be valid have the condition that it is null.
    end_came_at INTEGER,
    -- Set when retention has removed the last key of this ended membership that was never revoked: the time before which it
    -- then removed dead keys. An ended membership gets no new keys, so retention skips it from then on.
    keys_removed_at INTEGER,
    -- When the leaky bucket that limits how often keys are created and edited is empty; null before the first change.
    changes_empty_at INTEGER,
    CONSTRAINT memberships_end_came_at_check CHECK (end_came_at IS NULL OR ended_at IS NOT NULL),
    CONSTRAINT memberships_keys_removed_at_check CHECK (keys_removed_at IS NULL OR ended_at IS NOT NULL)
) STRICT;

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
    id BLOB NOT NULL CONSTRAINT invitations_pkey PRIMARY KEY
        CONSTRAINT invitations_id_check CHECK (length(id) = 16),
    organization_id BLOB NOT NULL
        CONSTRAINT invitations_organization_id_fkey REFERENCES organizations (id),
    -- SHA-256 of the link's secret, which is stored nowhere.
    digest BLOB NOT NULL
        CONSTRAINT invitations_digest_key UNIQUE
        CONSTRAINT invitations_digest_check CHECK (length(digest) = 32),
    invitee TEXT NOT NULL,
    role TEXT NOT NULL
        CONSTRAINT invitations_role_check CHECK (role IN ('owner', 'member')),
    invited_by_kind TEXT NOT NULL
        CONSTRAINT invitations_invited_by_kind_check CHECK (invited_by_kind IN ('user', 'administrator')),
    invited_by_id BLOB
        CONSTRAINT invitations_invited_by_id_length_check CHECK (length(invited_by_id) = 16),
    -- The idempotency key of the form that made it, which makes no second one. Null for invitations that no form made.
    idempotency_key BLOB
        CONSTRAINT invitations_idempotency_key_check CHECK (length(idempotency_key) = 16),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    accepted_at INTEGER,
    accepted_membership_id BLOB
        CONSTRAINT invitations_accepted_membership_id_fkey REFERENCES memberships (id),
    revoked_at INTEGER,
    CONSTRAINT invitations_invited_by_id_check CHECK ((invited_by_id IS NOT NULL) = (invited_by_kind = 'user')),
    CONSTRAINT invitations_accepted_check CHECK ((accepted_at IS NULL) = (accepted_membership_id IS NULL)),
    CONSTRAINT invitations_end_check CHECK (accepted_at IS NULL OR revoked_at IS NULL)
) STRICT;

-- One form makes one invitation.
CREATE UNIQUE INDEX invitations_idempotency_key_key ON invitations (organization_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
-- An organization's invitations that have not ended, newest first (read backwards).
CREATE INDEX invitations_pending_idx ON invitations (organization_id, id)
    WHERE accepted_at IS NULL AND revoked_at IS NULL;
-- Invitations by when they were accepted, were revoked or expire: retention removes them some time after that.
CREATE INDEX invitations_over_since_idx ON invitations (coalesce(accepted_at, revoked_at, expires_at));

CREATE TABLE projects (
    id BLOB NOT NULL CONSTRAINT projects_pkey PRIMARY KEY
        CONSTRAINT projects_id_check CHECK (length(id) = 16),
    organization_id BLOB NOT NULL
        CONSTRAINT projects_organization_id_fkey REFERENCES organizations (id),
    name TEXT NOT NULL,
    -- The name, folded by the domain.
    search_text TEXT NOT NULL,
    idempotency_key BLOB
        CONSTRAINT projects_idempotency_key_check CHECK (length(idempotency_key) = 16),
    created_at INTEGER NOT NULL,
    archived_at INTEGER
) STRICT;

-- One form creates one project.
CREATE UNIQUE INDEX projects_idempotency_key_key ON projects (organization_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
-- An organization's projects, newest first (read backwards).
CREATE INDEX projects_organization_id_id_idx ON projects (organization_id, id);

-- A consumer's keys reach the projects of its rows; the primary key finds these, newest first.
CREATE TABLE project_members (
    membership_id BLOB NOT NULL
        CONSTRAINT project_members_membership_id_fkey REFERENCES memberships (id),
    project_id BLOB NOT NULL
        CONSTRAINT project_members_project_id_fkey REFERENCES projects (id),
    added_at INTEGER NOT NULL,
    CONSTRAINT project_members_pkey PRIMARY KEY (membership_id, project_id)
) STRICT, WITHOUT ROWID;

-- The members of a project.
CREATE INDEX project_members_project_id_idx ON project_members (project_id, membership_id);

---------------------------------------------------------------- Keys

CREATE TABLE api_keys (
    id BLOB NOT NULL CONSTRAINT api_keys_pkey PRIMARY KEY
        CONSTRAINT api_keys_id_check CHECK (length(id) = 16),
    consumer_id BLOB NOT NULL
        CONSTRAINT api_keys_consumer_id_fkey REFERENCES memberships (id),
    -- The organization of the consumer, which never changes; it is repeated here for the indexes of an organization's keys.
    -- The trigger api_keys_organization replaces the default with it within the statement; SQLite checks the foreign key
    -- after that, when the statement ends.
    organization_id BLOB NOT NULL DEFAULT (zeroblob(16))
        CONSTRAINT api_keys_organization_id_fkey REFERENCES organizations (id),
    -- SHA-256 of the token, which is stored nowhere.
    digest BLOB NOT NULL
        CONSTRAINT api_keys_digest_key UNIQUE
        CONSTRAINT api_keys_digest_check CHECK (length(digest) = 32),
    hint TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    -- Name, description and the token's last four characters, folded by the domain.
    search_text TEXT NOT NULL,
    -- Whether the key may create keys, and read and change the other keys of its consumer. It never changes.
    can_manage_keys INTEGER NOT NULL DEFAULT 1
        CONSTRAINT api_keys_can_manage_keys_check CHECK (can_manage_keys IN (0, 1)),

    -- Exactly one of these two is set: the user who created the key in the console, or its parent, the key that created it
    -- through the API.
    created_by_user_id BLOB
        CONSTRAINT api_keys_created_by_user_id_fkey REFERENCES users (id),
    -- No foreign key: a parent may be removed before its children.
    created_by_key_id BLOB
        CONSTRAINT api_keys_created_by_key_id_check CHECK (length(created_by_key_id) = 16),
    -- The key that this one is below in its key tree, if that is not its parent: the key that rotated another one to it or,
    -- if retention removed the key above, the nearest ancestor that is still stored. No foreign key: the transaction that
    -- removes that key sets a new value.
    adoptive_parent_key_id BLOB
        CONSTRAINT api_keys_adoptive_parent_key_id_check CHECK (length(adoptive_parent_key_id) = 16),
    -- The depth of the key in its key tree, and a skip pointer to one of its ancestors: with both, any ancestor is found in
    -- a number of steps that grows with the logarithm of the depth (E. W. Myers, "An applicative random-access stack",
    -- 1983). The trigger api_keys_line sets both, and neither ever changes. A key without a parent has depth 0 and no skip
    -- pointer. No foreign key: if retention removed the key that the skip pointer names, a search takes the next key above
    -- instead.
    tree_depth INTEGER NOT NULL DEFAULT 0,
    skip_key_id BLOB
        CONSTRAINT api_keys_skip_key_id_check CHECK (length(skip_key_id) = 16),
    -- The key that was rotated to this one, and the key that this one was rotated to. No foreign keys: either may be
    -- removed before the other.
    rotated_from_key_id BLOB
        CONSTRAINT api_keys_rotated_from_key_id_check CHECK (length(rotated_from_key_id) = 16),
    rotated_to_key_id BLOB
        CONSTRAINT api_keys_rotated_to_key_id_check CHECK (length(rotated_to_key_id) = 16),
    -- The idempotency key of the form or of the API request that created the key. That of a request comes with a digest of
    -- what was requested; retention sets both to null after 25 hours.
    idempotency_key BLOB
        CONSTRAINT api_keys_idempotency_key_check CHECK (length(idempotency_key) = 16),
    request_digest BLOB
        CONSTRAINT api_keys_request_digest_check CHECK (length(request_digest) = 16),
    created_at INTEGER NOT NULL,
    -- When the first key of the key tree was created; retention may have removed that key. The trigger api_keys_tree
    -- replaces the default with it. It never changes.
    tree_began_at INTEGER NOT NULL DEFAULT 9223372036854775807,

    last_used_at INTEGER,
    -- Also null if the address of the last use is unknown.
    last_used_from TEXT,

    -- These two are like ended_at and end_came_at of a membership: revoked_at in the future is a planned end.
    revoked_at INTEGER,
    end_came_at INTEGER,
    revoked_by_kind TEXT
        CONSTRAINT api_keys_revoked_by_kind_check
        CHECK (revoked_by_kind IN ('user', 'api_key', 'administrator', 'system', 'anonymous')),
    revoked_by_id BLOB
        CONSTRAINT api_keys_revoked_by_id_length_check CHECK (length(revoked_by_id) = 16),
    revoked_reason TEXT
        CONSTRAINT api_keys_revoked_reason_check
        CHECK (revoked_reason IN ('holder', 'owner', 'leak', 'administrator', 'expired', 'rotation')),
    -- A note to the holder: the reason that an owner or an administrator gave, or where a leaked token was found.
    revoked_note TEXT,

    CONSTRAINT api_keys_origin_check
        CHECK ((created_by_user_id IS NOT NULL) + (created_by_key_id IS NOT NULL) = 1),
    CONSTRAINT api_keys_request_check CHECK (request_digest IS NULL OR idempotency_key IS NOT NULL),
    CONSTRAINT api_keys_last_used_check CHECK (last_used_from IS NULL OR last_used_at IS NOT NULL),
    CONSTRAINT api_keys_end_came_at_check CHECK (end_came_at IS NULL OR revoked_at IS NOT NULL),
    CONSTRAINT api_keys_revocation_check
        CHECK ((revoked_at IS NOT NULL) + (revoked_by_kind IS NOT NULL) + (revoked_reason IS NOT NULL) IN (0, 3)),
    CONSTRAINT api_keys_revoked_by_id_check
        CHECK ((revoked_by_id IS NOT NULL) = (coalesce(revoked_by_kind, '') IN ('user', 'api_key'))),
    CONSTRAINT api_keys_revoked_note_check CHECK (revoked_note IS NULL OR revoked_at IS NOT NULL)
) STRICT;

-- A form or a request with an idempotency key creates one key, however often it is sent.
CREATE UNIQUE INDEX api_keys_idempotency_key_key ON api_keys (consumer_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
-- Keys with the idempotency key of a request, the oldest first: retention removes idempotency keys in this order.
CREATE INDEX api_keys_requested_idx ON api_keys (created_at) WHERE request_digest IS NOT NULL;
-- A consumer's keys, newest first (read backwards).
CREATE INDEX api_keys_consumer_id_id_idx ON api_keys (consumer_id, id);
-- A consumer's keys that may be valid, newest first.
CREATE INDEX api_keys_valid_idx ON api_keys (consumer_id, id) WHERE end_came_at IS NULL;
-- The same keys by their last use, with both columns of the end, so that SQLite counts valid keys from the index alone.
CREATE INDEX api_keys_used_idx ON api_keys (consumer_id, last_used_at, id, revoked_at, end_came_at)
    WHERE end_came_at IS NULL;
-- All keys of an organization, those that may be valid, and those with an end, each newest first (read backwards).
CREATE INDEX api_keys_organization_id_id_idx ON api_keys (organization_id, id);
CREATE INDEX api_keys_organization_valid_idx ON api_keys (organization_id, id) WHERE end_came_at IS NULL;
CREATE INDEX api_keys_organization_revoked_idx ON api_keys (organization_id, id) WHERE revoked_at IS NOT NULL;
-- An organization's keys that may be valid, by the day (UTC, counted from 1970) on which they were last used or, if they
-- never were, created.
CREATE INDEX api_keys_organization_idle_idx
    ON api_keys (organization_id, coalesce(last_used_at, created_at) / 86400000, id, revoked_at, end_came_at)
    WHERE end_came_at IS NULL;
-- An organization's keys with a planned end that is not recorded yet, the earliest end first.
CREATE INDEX api_keys_organization_end_idx ON api_keys (organization_id, revoked_at, id)
    WHERE revoked_at IS NOT NULL AND end_came_at IS NULL;
-- An organization's keys that may be valid, those of the oldest key trees first.
CREATE INDEX api_keys_organization_tree_idx ON api_keys (organization_id, tree_began_at, id) WHERE end_came_at IS NULL;
-- The children of a key in its key tree: the keys that it created, and those of which it is the adoptive parent.
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

CREATE TRIGGER api_keys_organization AFTER INSERT ON api_keys
BEGIN
    UPDATE api_keys SET organization_id = memberships.organization_id
    FROM memberships
    WHERE api_keys.id = NEW.id AND memberships.id = NEW.consumer_id;
END;

-- An imported key has its value already.
CREATE TRIGGER api_keys_tree AFTER INSERT ON api_keys
WHEN NEW.tree_began_at = 9223372036854775807
BEGIN
    UPDATE api_keys SET tree_began_at = min(NEW.created_at, coalesce(
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
        ),
        NEW.created_at
    ))
    WHERE id = NEW.id;
END;

-- If the parent's skip and the next one have the same length, the new key skips both; else it points to its parent. An
-- imported key has its depth already.
CREATE TRIGGER api_keys_line AFTER INSERT ON api_keys
WHEN coalesce(NEW.adoptive_parent_key_id, NEW.created_by_key_id) IS NOT NULL AND NEW.tree_depth = 0
BEGIN
    UPDATE api_keys SET
        tree_depth = parent.tree_depth + 1,
        skip_key_id = CASE WHEN parent.tree_depth - skip.tree_depth = skip.tree_depth - second.tree_depth
            THEN second.id ELSE parent.id END
    FROM api_keys parent
    LEFT JOIN api_keys skip ON skip.id = parent.skip_key_id
    LEFT JOIN api_keys second ON second.id = skip.skip_key_id
    WHERE api_keys.id = NEW.id AND parent.id = coalesce(NEW.adoptive_parent_key_id, NEW.created_by_key_id)
        AND parent.consumer_id = NEW.consumer_id;
END;

-- The numbers by which the search index (api_key_grams) identifies keys; triggers maintain both. (The rowid of api_keys may
-- change.) There are eight ranges of 2^40 numbers each. Within a range the numbers rise with the identifiers, so that the
-- index finds the newest keys first. A key gets the next number of the first range whose last key has a lower identifier:
-- nearly always the first range, or the second while the first ends with keys that were created while a clock was ahead. A
-- key that fits into no range, which requires that clocks were set back eight times, gets a number below 0.
CREATE TABLE api_key_search (
    number INTEGER NOT NULL CONSTRAINT api_key_search_pkey PRIMARY KEY,
    key_id BLOB NOT NULL CONSTRAINT api_key_search_key_id_key UNIQUE
) STRICT;
CREATE INDEX api_key_search_run_idx ON api_key_search (number >> 40, key_id);

-- The trigrams of the bytes of a text, its last two bytes, and its last one. A term of three or more bytes can only be in
-- texts that have all trigrams of the term; a shorter one only in texts with an entry that begins with it. Each entry is in
-- hexadecimal, prefixed with six digits of the organization's identifier, so that a search does not read entries of other
-- organizations. (Two organizations may share these digits, because the text itself is compared at the end.) Bytes, because
-- SQLite finds the n-th character of a text by counting from its beginning.
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
            -- These rise, too, because the index is faster with rising numbers.
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

---------------------------------------------------------------- Audit log

CREATE TABLE audit_events (
    id BLOB NOT NULL CONSTRAINT audit_events_pkey PRIMARY KEY
        CONSTRAINT audit_events_id_check CHECK (length(id) = 16),
    occurred_at INTEGER NOT NULL,
    -- No foreign keys: events stay when what they are about is removed.
    organization_id BLOB
        CONSTRAINT audit_events_organization_id_check CHECK (length(organization_id) = 16),
    actor_kind TEXT NOT NULL
        CONSTRAINT audit_events_actor_kind_check
        CHECK (actor_kind IN ('user', 'api_key', 'administrator', 'system', 'anonymous')),
    actor_id BLOB
        CONSTRAINT audit_events_actor_id_length_check CHECK (length(actor_id) = 16),
    -- Here and below, only the form is checked, because each version adds actions and subjects. An action is two words of
    -- lower-case letters and underscores, with a dot between.
    action TEXT NOT NULL
        CONSTRAINT audit_events_action_check
        CHECK (action GLOB '?*.?*' AND action NOT GLOB '*.*.*' AND action NOT GLOB '*[^a-z_.]*'),
    subject_kind TEXT NOT NULL
        CONSTRAINT audit_events_subject_kind_check
        CHECK (subject_kind <> '' AND subject_kind NOT GLOB '*[^a-z_]*'),
    subject_id BLOB
        CONSTRAINT audit_events_subject_id_length_check CHECK (length(subject_id) = 16),
    -- What else the event is about.
    object_kind TEXT
        CONSTRAINT audit_events_object_kind_check
        CHECK (object_kind <> '' AND object_kind NOT GLOB '*[^a-z_]*'),
    object_id BLOB
        CONSTRAINT audit_events_object_id_length_check CHECK (length(object_id) = 16),
    -- Of a change of one value: the value before and after.
    old_value TEXT,
    new_value TEXT,
    outcome TEXT NOT NULL
        CONSTRAINT audit_events_outcome_check CHECK (outcome IN ('success', 'refused')),
    source_address TEXT,
    request_id TEXT,
    CONSTRAINT audit_events_actor_id_check
        CHECK ((actor_id IS NOT NULL) = (actor_kind IN ('user', 'api_key'))),
    CONSTRAINT audit_events_subject_id_check
        CHECK ((subject_id IS NOT NULL) = (subject_kind <> 'installation')),
    CONSTRAINT audit_events_object_check CHECK ((object_kind IS NULL) = (object_id IS NULL))
    -- Without a rowid, by which REPLACE could bypass the triggers below.
) STRICT, WITHOUT ROWID;

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

-- Audit events are never changed. A transaction may only remove those from before a time that it inserts here. It deletes
-- its row before it ends, so no other transaction ever sees one.
CREATE TABLE audit_events_removal (
    removable_before INTEGER NOT NULL CONSTRAINT audit_events_removal_pkey PRIMARY KEY
) STRICT;

CREATE TRIGGER audit_events_not_updated BEFORE UPDATE ON audit_events
BEGIN
    SELECT RAISE(ABORT, 'audit_events is append-only: UPDATE is refused');
END;
-- Events of the last 30 days by the clock of this machine are never removed.
CREATE TRIGGER audit_events_not_deleted BEFORE DELETE ON audit_events
WHEN OLD.occurred_at >= (unixepoch('now') - 30 * 86400) * 1000
    OR NOT EXISTS (SELECT 1 FROM audit_events_removal WHERE OLD.occurred_at < removable_before)
BEGIN
    SELECT RAISE(ABORT, 'audit_events is append-only: DELETE is refused');
END;
-- INSERT OR REPLACE deletes conflicting rows without running the trigger above (PRAGMA recursive_triggers is off).
CREATE TRIGGER audit_events_not_replaced BEFORE INSERT ON audit_events
WHEN EXISTS (SELECT 1 FROM audit_events WHERE id = NEW.id)
BEGIN
    SELECT RAISE(ABORT, 'audit_events is append-only: REPLACE is refused');
END;

-- The numbers of the events, in the order of commits: SQLite runs one change at a time.
CREATE TABLE audit_positions (
    position INTEGER NOT NULL
        CONSTRAINT audit_positions_pkey PRIMARY KEY,
    event_id BLOB NOT NULL
        CONSTRAINT audit_positions_event_id_key UNIQUE
        CONSTRAINT audit_positions_event_id_check CHECK (length(event_id) = 16)
) STRICT;

-- The identifier of the log, and the number up to which events were removed because of their age.
CREATE TABLE audit_feed (
    -- There is one row: this column can hold one value.
    only_row INTEGER NOT NULL
        CONSTRAINT audit_feed_pkey PRIMARY KEY
        CONSTRAINT audit_feed_only_row_check CHECK (only_row = 1),
    log_id TEXT NOT NULL
        CONSTRAINT audit_feed_log_id_check CHECK (length(log_id) = 8 AND log_id NOT GLOB '*[^0-9a-f]*'),
    removed_through INTEGER NOT NULL
) STRICT;

INSERT INTO audit_feed (only_row, log_id, removed_through) VALUES (1, lower(hex(randomblob(4))), 0);

-- No number is used again: those of removed events are at most `removed_through`.
CREATE TRIGGER audit_events_numbered AFTER INSERT ON audit_events
BEGIN
    INSERT INTO audit_positions (position, event_id)
        SELECT 1 + max(removed_through, coalesce((SELECT max(position) FROM audit_positions), 0)), NEW.id
        FROM audit_feed;
END;
CREATE TRIGGER audit_events_removed AFTER DELETE ON audit_events
BEGIN
    UPDATE audit_feed
        SET removed_through = max(
            removed_through, coalesce((SELECT position FROM audit_positions WHERE event_id = OLD.id), 0));
    DELETE FROM audit_positions WHERE event_id = OLD.id;
END;

-- An event keeps its number as long as it is stored.
CREATE TRIGGER audit_positions_not_updated BEFORE UPDATE ON audit_positions
BEGIN
    SELECT RAISE(ABORT, 'audit_positions is append-only: UPDATE is refused');
END;
CREATE TRIGGER audit_positions_not_deleted BEFORE DELETE ON audit_positions
WHEN EXISTS (SELECT 1 FROM audit_events WHERE id = OLD.event_id)
BEGIN
    SELECT RAISE(ABORT, 'audit_positions is append-only: DELETE is refused');
END;
-- INSERT OR REPLACE deletes conflicting rows without running the trigger above.
CREATE TRIGGER audit_positions_not_replaced BEFORE INSERT ON audit_positions
WHEN EXISTS (SELECT 1 FROM audit_positions WHERE position = NEW.position OR event_id = NEW.event_id)
BEGIN
    SELECT RAISE(ABORT, 'audit_positions is append-only: REPLACE is refused');
END;

---------------------------------------------------------------- Signing in

CREATE TABLE sessions (
    id BLOB NOT NULL CONSTRAINT sessions_pkey PRIMARY KEY
        CONSTRAINT sessions_id_check CHECK (length(id) = 16),
    user_id BLOB NOT NULL
        CONSTRAINT sessions_user_id_fkey REFERENCES users (id),
    -- SHA-256 of the cookie's secret, which is stored nowhere.
    digest BLOB NOT NULL
        CONSTRAINT sessions_digest_key UNIQUE
        CONSTRAINT sessions_digest_check CHECK (length(digest) = 32),
    started_at INTEGER NOT NULL,
    started_from TEXT,
    user_agent TEXT,
    last_seen_at INTEGER NOT NULL
) STRICT;

-- The sessions of a user: a new password ends them, except the one in which the user changes it.
CREATE INDEX sessions_user_id_idx ON sessions (user_id);

CREATE TABLE sign_in_throttle (
    bucket BLOB NOT NULL
        CONSTRAINT sign_in_throttle_pkey PRIMARY KEY
        CONSTRAINT sign_in_throttle_bucket_check CHECK (length(bucket) = 32),
    empty_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Buckets by when they are empty: retention removes the empty ones.
CREATE INDEX sign_in_throttle_empty_at_idx ON sign_in_throttle (empty_at);

---------------------------------------------------------------- The installation itself

CREATE TABLE installation (
    -- There is one row: this column can hold one value.
    only_row INTEGER NOT NULL
        CONSTRAINT installation_pkey PRIMARY KEY
        CONSTRAINT installation_only_row_check CHECK (only_row = 1),
    set_up_at INTEGER,
    setup_link_digest BLOB
        CONSTRAINT installation_setup_link_digest_check CHECK (length(setup_link_digest) = 32),
    setup_link_expires_at INTEGER,
    -- Signs the cookies that mark browsers in which a user signed in before; created at the first sign-in.
    browser_key BLOB
        CONSTRAINT installation_browser_key_check CHECK (length(browser_key) = 32),
    CONSTRAINT installation_setup_link_check
        CHECK ((setup_link_digest IS NULL) = (setup_link_expires_at IS NULL)),
    CONSTRAINT installation_set_up_check CHECK (set_up_at IS NULL OR setup_link_digest IS NULL)
) STRICT;

INSERT INTO installation (only_row) VALUES (1);

-- The time when retention last trusted a clock. Before its first check, this is the time when the tables were created, so
-- that the first check also has a time to compare the clock with.
CREATE TABLE retention_clock (
    -- There is one row: this column can hold one value.
    only_row INTEGER NOT NULL
        CONSTRAINT retention_clock_pkey PRIMARY KEY
        CONSTRAINT retention_clock_only_row_check CHECK (only_row = 1),
    believed_at INTEGER NOT NULL
) STRICT;

INSERT INTO retention_clock (only_row, believed_at) VALUES (1, unixepoch('now') * 1000);

---------------------------------------------------------------- Verifications kept in memory

-- The number of the newest change of what keys may do or reach. Every transaction that makes such changes raises it.
CREATE TABLE access_counter (
    -- There is one row: this column can hold one value.
    only_row INTEGER NOT NULL
        CONSTRAINT access_counter_pkey PRIMARY KEY
        CONSTRAINT access_counter_only_row_check CHECK (only_row = 1),
    number INTEGER NOT NULL
        CONSTRAINT access_counter_number_check CHECK (number >= 0)
) STRICT;

INSERT INTO access_counter (only_row, number) VALUES (1, 0);

-- Whose keys each change concerns. The newest thousand are kept; a replica that has missed older ones empties its cache.
CREATE TABLE access_changes (
    number INTEGER NOT NULL CONSTRAINT access_changes_pkey PRIMARY KEY,
    concerns_kind TEXT NOT NULL
        CONSTRAINT access_changes_concerns_kind_check
        CHECK (concerns_kind IN ('api_key', 'consumer', 'organization', 'everyone')),
    concerns_id BLOB
        CONSTRAINT access_changes_concerns_id_length_check CHECK (length(concerns_id) = 16),
    CONSTRAINT access_changes_concerns_id_check CHECK ((concerns_id IS NULL) = (concerns_kind = 'everyone'))
) STRICT;

-- The servers that keep verifications in memory, and the number up to which each has seen the changes.
CREATE TABLE replicas (
    id BLOB NOT NULL CONSTRAINT replicas_pkey PRIMARY KEY
        CONSTRAINT replicas_id_check CHECK (length(id) = 16),
    name TEXT NOT NULL,
    acknowledged INTEGER NOT NULL
        CONSTRAINT replicas_acknowledged_check CHECK (acknowledged >= 0)
) STRICT;

-- The migration that a version of Keyward must know to work with these tables; it need not know newer ones. A breaking
-- migration sets it to its own version; an additive one does not change it.
CREATE TABLE schema_compatibility (
    -- There is one row: this column can hold one value.
    only_row INTEGER NOT NULL
        CONSTRAINT schema_compatibility_pkey PRIMARY KEY
        CONSTRAINT schema_compatibility_only_row_check CHECK (only_row = 1),
    minimum_reader TEXT NOT NULL
        CONSTRAINT schema_compatibility_minimum_reader_check
        CHECK (length(minimum_reader) = 14 AND minimum_reader NOT GLOB '*[^0-9]*')
) STRICT;

INSERT INTO schema_compatibility (only_row, minimum_reader) VALUES (1, '20261127000000');

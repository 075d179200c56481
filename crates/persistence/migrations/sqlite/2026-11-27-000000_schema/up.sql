-- Kind: additive

-- Everything an installation keeps: who there is, what is invited and run, the keys, what happened, and what the server
-- itself remembers.
--
-- Rules that one row can break are CHECKs, so that no client of the database can bypass them. What a text may say is
-- the domain's rule alone; only words with a meaning are listed here. Every constraint has a name: errors are told apart
-- by it.
--
-- Identifiers are their 16 bytes, which sort like the identifiers. Moments are milliseconds since 1970: exact, and
-- earlier is less, which texts promise only as long as everybody writes them alike. Texts sort by code point.

---------------------------------------------------------------- Organizations and people

CREATE TABLE organizations (
    id BLOB NOT NULL CONSTRAINT organizations_pkey PRIMARY KEY
        CONSTRAINT organizations_id_check CHECK (length(id) = 16),
    slug TEXT NOT NULL CONSTRAINT organizations_slug_key UNIQUE,
    name TEXT NOT NULL,
    -- Whether a new key may manage keys, if nobody asks for either.
    new_keys_manage_keys INTEGER NOT NULL DEFAULT 1
        CONSTRAINT organizations_new_keys_manage_keys_check CHECK (new_keys_manage_keys IN (0, 1)),
    -- After how many days a new key ends at the latest; null for never.
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
    -- May lie ahead: then the end is planned, and comes at that moment.
    ended_at INTEGER,
    -- When the end was recorded as come, whatever a clock says: somebody ended the membership there and then, or its planned
    -- end had come. Until then, whoever asks compares the end with their moment. What may be valid is found by its absence.
    end_came_at INTEGER,
    -- Until when retention was told to remove dead keys as it removed the last of this membership that was never revoked.
    -- No key comes after the end, so it need not look here again.
    keys_removed_at INTEGER,
    -- When the bucket that bounds how often keys are created and edited will have run empty; absent before the first time.
    changes_empty_at INTEGER,
    CONSTRAINT memberships_end_came_at_check CHECK (end_came_at IS NULL OR ended_at IS NOT NULL),
    CONSTRAINT memberships_keys_removed_at_check CHECK (keys_removed_at IS NULL OR ended_at IS NOT NULL)
) STRICT;

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
    -- The form that made it, which makes no second one. Absent for invitations that no form made.
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
-- Invitations by when they were, or will be, over: retention removes them then.
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

-- The projects that a consumer's keys reach are those of its own rows: the primary key leads there, newest first.
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
    -- The consumer's, which never changes: here, too, it makes one index of all keys of an organization. The trigger
    -- api_keys_organization fills it in before the statement ends, which is when SQLite looks whether the organization is
    -- there; until then it is none.
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
    -- Whether the key may create keys, and see and change the other keys of its consumer. It never changes.
    can_manage_keys INTEGER NOT NULL DEFAULT 1
        CONSTRAINT api_keys_can_manage_keys_check CHECK (can_manage_keys IN (0, 1)),

    -- A key was created by a user in the console or by another key: its parent.
    created_by_user_id BLOB
        CONSTRAINT api_keys_created_by_user_id_fkey REFERENCES users (id),
    -- No foreign key: a parent may be forgotten before its children.
    created_by_key_id BLOB
        CONSTRAINT api_keys_created_by_key_id_check CHECK (length(created_by_key_id) = 16),
    -- The key below which this one is in its key tree, if its parent is not: the key that rotated another one to it, or
    -- the nearest of those above it which is still kept. No foreign key: it is set again in the transaction that removes
    -- what it names.
    adoptive_parent_key_id BLOB
        CONSTRAINT api_keys_adoptive_parent_key_id_check CHECK (length(adoptive_parent_key_id) = 16),
    -- How many keys made each other before this one, in one line; and one of these, chosen so that any of them is found
    -- in a number of steps that grows with the logarithm of the depth (E. W. Myers, "An applicative random-access stack",
    -- 1983). The trigger api_keys_line fills both in, and neither ever changes. Without a parent there is nothing to skip
    -- to. No foreign key: retention may remove it; then the climb takes the next key above.
    tree_depth INTEGER NOT NULL DEFAULT 0,
    skip_key_id BLOB
        CONSTRAINT api_keys_skip_key_id_check CHECK (length(skip_key_id) = 16),
    -- The key whose place this one took, and the one that took its place. No foreign keys: either may be forgotten before
    -- the other.
    rotated_from_key_id BLOB
        CONSTRAINT api_keys_rotated_from_key_id_check CHECK (length(rotated_from_key_id) = 16),
    rotated_to_key_id BLOB
        CONSTRAINT api_keys_rotated_to_key_id_check CHECK (length(rotated_to_key_id) = 16),
    -- Of the form that asked for it, or of the request. A request's is forgotten after a day, and has a digest of what was
    -- asked for.
    idempotency_key BLOB
        CONSTRAINT api_keys_idempotency_key_check CHECK (length(idempotency_key) = 16),
    request_digest BLOB
        CONSTRAINT api_keys_request_digest_check CHECK (length(request_digest) = 16),
    created_at INTEGER NOT NULL,
    -- When the first of the keys was created that led to this one: its own moment, or that of an ancestor, which may be
    -- forgotten. The trigger api_keys_tree fills it in; until then it is later than all. It never changes.
    tree_began_at INTEGER NOT NULL DEFAULT 9223372036854775807,

    last_used_at INTEGER,
    -- Absent also for a key that was used from nowhere in particular.
    last_used_from TEXT,

    -- May lie ahead, as the end of a membership may.
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
    -- What an owner said when revoking it.
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

-- One form makes one key, and so does one request that is sent again.
CREATE UNIQUE INDEX api_keys_idempotency_key_key ON api_keys (consumer_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
-- Keys that were asked for with an idempotency key of a request, the earliest first: retention forgets it.
CREATE INDEX api_keys_requested_idx ON api_keys (created_at) WHERE request_digest IS NOT NULL;
-- A consumer's keys, newest first (read backwards).
CREATE INDEX api_keys_consumer_id_id_idx ON api_keys (consumer_id, id);
-- A consumer's keys that may be valid, newest first.
CREATE INDEX api_keys_valid_idx ON api_keys (consumer_id, id) WHERE end_came_at IS NULL;
-- The same keys by their last use. With both columns of the end, SQLite counts valid keys without the table.
CREATE INDEX api_keys_used_idx ON api_keys (consumer_id, last_used_at, id, revoked_at, end_came_at)
    WHERE end_came_at IS NULL;
-- An organization's keys, those that may be valid and those with an end, newest first (read backwards).
CREATE INDEX api_keys_organization_id_id_idx ON api_keys (organization_id, id);
CREATE INDEX api_keys_organization_valid_idx ON api_keys (organization_id, id) WHERE end_came_at IS NULL;
CREATE INDEX api_keys_organization_revoked_idx ON api_keys (organization_id, id) WHERE revoked_at IS NOT NULL;
-- An organization's keys that may be valid by the day (UTC, counted from 1970) on which they were last used or, if they
-- never were, created.
CREATE INDEX api_keys_organization_idle_idx
    ON api_keys (organization_id, coalesce(last_used_at, created_at) / 86400000, id, revoked_at, end_came_at)
    WHERE end_came_at IS NULL;
-- An organization's keys with a planned end that is not recorded as come, the earliest first.
CREATE INDEX api_keys_organization_end_idx ON api_keys (organization_id, revoked_at, id)
    WHERE revoked_at IS NOT NULL AND end_came_at IS NULL;
-- An organization's keys that may be valid, those first whose trees began first.
CREATE INDEX api_keys_organization_tree_idx ON api_keys (organization_id, tree_began_at, id) WHERE end_came_at IS NULL;
-- The children of a key in its key tree: the keys that it created, and those of which it is the adoptive parent.
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

CREATE TRIGGER api_keys_organization AFTER INSERT ON api_keys
BEGIN
    UPDATE api_keys SET organization_id = memberships.organization_id
    FROM memberships
    WHERE api_keys.id = NEW.id AND memberships.id = NEW.consumer_id;
END;

-- An imported key comes with it.
CREATE TRIGGER api_keys_tree AFTER INSERT ON api_keys
WHEN NEW.tree_began_at = 9223372036854775807
BEGIN
    UPDATE api_keys SET tree_began_at = min(NEW.created_at, coalesce(
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
        ),
        NEW.created_at
    ))
    WHERE id = NEW.id;
END;

-- Two skips of the same length become one of both. An imported key comes with its place.
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

-- What the index of what keys are searched by knows a key as; triggers keep both. (The number that SQLite gives a row by
-- itself may change.) There are eight runs of numbers, of 2^40 each. Within a run they rise with the identifiers, so that
-- the index finds the newest keys first. A key goes into a run whose last key has a lower identifier: nearly always the
-- first, or the second for as long as keys are in the first that were made while a clock was ahead. One that fits into
-- none, which takes clocks that go back eight times, gets a number below 0.
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

---------------------------------------------------------------- What happened

CREATE TABLE audit_events (
    id BLOB NOT NULL CONSTRAINT audit_events_pkey PRIMARY KEY
        CONSTRAINT audit_events_id_check CHECK (length(id) = 16),
    occurred_at INTEGER NOT NULL,
    -- No foreign keys: what happened stays true when what it happened to is gone.
    organization_id BLOB
        CONSTRAINT audit_events_organization_id_check CHECK (length(organization_id) = 16),
    actor_kind TEXT NOT NULL
        CONSTRAINT audit_events_actor_kind_check
        CHECK (actor_kind IN ('user', 'api_key', 'administrator', 'system', 'anonymous')),
    actor_id BLOB
        CONSTRAINT audit_events_actor_id_length_check CHECK (length(actor_id) = 16),
    -- The form only, here and below: every version adds actions and what they are about. Two words of lower-case letters
    -- and underscores, with a dot between.
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
    -- What was there before and after, of a change of one value.
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
    -- A row's number would be a second name for it, by which it could be replaced past the triggers below.
) STRICT, WITHOUT ROWID;

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
-- that. It says so here, and takes it back before it ends: nobody else ever finds a row.
CREATE TABLE audit_events_removal (
    removable_before INTEGER NOT NULL CONSTRAINT audit_events_removal_pkey PRIMARY KEY
) STRICT;

CREATE TRIGGER audit_events_not_updated BEFORE UPDATE ON audit_events
BEGIN
    SELECT RAISE(ABORT, 'audit_events is append-only: UPDATE is refused');
END;
-- Whatever a transaction says: events of the last 30 days by the clock of this machine stay.
CREATE TRIGGER audit_events_not_deleted BEFORE DELETE ON audit_events
WHEN OLD.occurred_at >= (unixepoch('now') - 30 * 86400) * 1000
    OR NOT EXISTS (SELECT 1 FROM audit_events_removal WHERE OLD.occurred_at < removable_before)
BEGIN
    SELECT RAISE(ABORT, 'audit_events is append-only: DELETE is refused');
END;
-- INSERT OR REPLACE deletes what is in its way without asking the trigger above (PRAGMA recursive_triggers is off).
CREATE TRIGGER audit_events_not_replaced BEFORE INSERT ON audit_events
WHEN EXISTS (SELECT 1 FROM audit_events WHERE id = NEW.id)
BEGIN
    SELECT RAISE(ABORT, 'audit_events is append-only: REPLACE is refused');
END;

-- The log in the order of commits. Changes come one after the other, so events get their numbers in that order.
CREATE TABLE audit_positions (
    position INTEGER NOT NULL
        CONSTRAINT audit_positions_pkey PRIMARY KEY,
    event_id BLOB NOT NULL
        CONSTRAINT audit_positions_event_id_key UNIQUE
        CONSTRAINT audit_positions_event_id_check CHECK (length(event_id) = 16)
) STRICT;

-- Which log the numbers are of, and up to which number events were removed for their age.
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

-- No number is used again: a number that was removed is no higher than `removed_through`.
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

-- A number stays with its event, as long as that is there.
CREATE TRIGGER audit_positions_not_updated BEFORE UPDATE ON audit_positions
BEGIN
    SELECT RAISE(ABORT, 'audit_positions is append-only: UPDATE is refused');
END;
CREATE TRIGGER audit_positions_not_deleted BEFORE DELETE ON audit_positions
WHEN EXISTS (SELECT 1 FROM audit_events WHERE id = OLD.event_id)
BEGIN
    SELECT RAISE(ABORT, 'audit_positions is append-only: DELETE is refused');
END;
-- INSERT OR REPLACE deletes what is in its way without asking the trigger above.
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

-- The sessions that end with a user's password.
CREATE INDEX sessions_user_id_idx ON sessions (user_id);

CREATE TABLE sign_in_throttle (
    bucket BLOB NOT NULL
        CONSTRAINT sign_in_throttle_pkey PRIMARY KEY
        CONSTRAINT sign_in_throttle_bucket_check CHECK (length(bucket) = 32),
    empty_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Buckets that ran empty.
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
    -- What the cookies of browsers in which somebody signed in before are signed with; made at the first sign-in.
    browser_key BLOB
        CONSTRAINT installation_browser_key_check CHECK (length(browser_key) = 32),
    CONSTRAINT installation_setup_link_check
        CHECK ((setup_link_digest IS NULL) = (setup_link_expires_at IS NULL)),
    CONSTRAINT installation_set_up_check CHECK (set_up_at IS NULL OR setup_link_digest IS NULL)
) STRICT;

INSERT INTO installation (only_row) VALUES (1);

-- How late it was when the clock was believed the last time, before anything was removed by it; before the first look, when
-- the tables were made. Else the first look would ask nobody but the clock in question.
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

-- Whose keys each change is about. The newest thousand stay; whoever has seen fewer forgets everything.
CREATE TABLE access_changes (
    number INTEGER NOT NULL CONSTRAINT access_changes_pkey PRIMARY KEY,
    concerns_kind TEXT NOT NULL
        CONSTRAINT access_changes_concerns_kind_check
        CHECK (concerns_kind IN ('api_key', 'consumer', 'organization', 'everyone')),
    concerns_id BLOB
        CONSTRAINT access_changes_concerns_id_length_check CHECK (length(concerns_id) = 16),
    CONSTRAINT access_changes_concerns_id_check CHECK ((concerns_id IS NULL) = (concerns_kind = 'everyone'))
) STRICT;

-- The servers that keep verifications in memory, and up to which number each has seen the changes.
CREATE TABLE replicas (
    id BLOB NOT NULL CONSTRAINT replicas_pkey PRIMARY KEY
        CONSTRAINT replicas_id_check CHECK (length(id) = 16),
    name TEXT NOT NULL,
    acknowledged INTEGER NOT NULL
        CONSTRAINT replicas_acknowledged_check CHECK (acknowledged >= 0)
) STRICT;

-- Which versions of Keyward can work with these tables, for versions that do not know the newest migrations: all that
-- know the migration `minimum_reader`. A breaking migration sets it to its own version; an additive one leaves it.
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

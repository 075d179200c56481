-- Kind: additive

-- What running an organization needs: projects and who is in them, invitations, when keys were used, and what else an
-- event was about. While it runs, nobody changes anything: some 36 s for a million audit events, which are copied.

-- Username and display name, folded by the domain. Absent for users of the version before this one; bringing the
-- database up to date fills it in.
ALTER TABLE users ADD COLUMN search_text TEXT;

-- An organization's live members, who joined last first (read backwards).
CREATE INDEX memberships_organization_id_id_idx ON memberships (organization_id, id) WHERE ended_at IS NULL;

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

-- An organization's invitations that have not ended, newest first (read backwards).
CREATE INDEX invitations_pending_idx ON invitations (organization_id, id)
    WHERE accepted_at IS NULL AND revoked_at IS NULL;

CREATE TABLE projects (
    id BLOB NOT NULL CONSTRAINT projects_pkey PRIMARY KEY
        CONSTRAINT projects_id_check CHECK (length(id) = 16),
    organization_id BLOB NOT NULL
        CONSTRAINT projects_organization_id_fkey REFERENCES organizations (id),
    name TEXT NOT NULL,
    -- The name, folded by the domain.
    search_text TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    archived_at INTEGER
) STRICT;

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

ALTER TABLE api_keys ADD COLUMN last_used_at INTEGER;
-- Absent also for a key that was used from nowhere in particular.
ALTER TABLE api_keys ADD COLUMN last_used_from TEXT
    CONSTRAINT api_keys_last_used_check CHECK (last_used_from IS NULL OR last_used_at IS NOT NULL);
-- What an owner said when revoking it.
ALTER TABLE api_keys ADD COLUMN revoked_note TEXT
    CONSTRAINT api_keys_revoked_note_check CHECK (revoked_note IS NULL OR revoked_at IS NOT NULL);

ALTER TABLE sessions ADD COLUMN started_from TEXT;
ALTER TABLE sessions ADD COLUMN user_agent TEXT;

-- Like the action, what an event is about is checked in its form only from now on. SQLite cannot change a check: the
-- table is made anew and takes the place of the old one, which DROP TABLE ends without asking its triggers.
CREATE TABLE audit_events_anew (
    id BLOB NOT NULL CONSTRAINT audit_events_pkey PRIMARY KEY
        CONSTRAINT audit_events_id_check CHECK (length(id) = 16),
    occurred_at INTEGER NOT NULL,
    -- No foreign keys: what happened stays true when what it happened to is gone.
    organization_id BLOB
        CONSTRAINT audit_events_organization_id_check CHECK (length(organization_id) = 16),
    actor_kind TEXT NOT NULL
        CONSTRAINT audit_events_actor_kind_check
        CHECK (actor_kind IN ('user', 'api_key', 'administrator', 'anonymous')),
    actor_id BLOB
        CONSTRAINT audit_events_actor_id_length_check CHECK (length(actor_id) = 16),
    -- The form only: every version adds actions. Two words of lower-case letters and underscores, with a dot between.
    action TEXT NOT NULL
        CONSTRAINT audit_events_action_check
        CHECK (action GLOB '?*.?*' AND action NOT GLOB '*.*.*' AND action NOT GLOB '*[^a-z_.]*'),
    subject_kind TEXT NOT NULL
        CONSTRAINT audit_events_subject_kind_check
        CHECK (subject_kind <> '' AND subject_kind NOT GLOB '*[^a-z_]*'),
    subject_id BLOB
        CONSTRAINT audit_events_subject_id_length_check CHECK (length(subject_id) = 16),
    outcome TEXT NOT NULL
        CONSTRAINT audit_events_outcome_check CHECK (outcome IN ('success', 'refused')),
    source_address TEXT,
    request_id TEXT,
    object_kind TEXT
        CONSTRAINT audit_events_object_kind_check
        CHECK (object_kind <> '' AND object_kind NOT GLOB '*[^a-z_]*'),
    object_id BLOB
        CONSTRAINT audit_events_object_id_length_check CHECK (length(object_id) = 16),
    CONSTRAINT audit_events_actor_id_check
        CHECK ((actor_id IS NOT NULL) = (actor_kind IN ('user', 'api_key'))),
    CONSTRAINT audit_events_subject_id_check
        CHECK ((subject_id IS NOT NULL) = (subject_kind <> 'installation')),
    CONSTRAINT audit_events_object_check CHECK ((object_kind IS NULL) = (object_id IS NULL))
    -- A row's number would be a second name for it, by which it could be replaced past the triggers below.
) STRICT, WITHOUT ROWID;

INSERT INTO audit_events_anew
    SELECT id, occurred_at, organization_id, actor_kind, actor_id, action, subject_kind, subject_id, outcome,
        source_address, request_id, NULL, NULL
    FROM audit_events;
DROP TABLE audit_events;
ALTER TABLE audit_events_anew RENAME TO audit_events;

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
-- The events of no organization, latest first. Nobody searches them.
CREATE INDEX audit_events_installation_idx ON audit_events (occurred_at, id) WHERE organization_id IS NULL;

CREATE TRIGGER audit_events_not_updated BEFORE UPDATE ON audit_events
BEGIN
    SELECT RAISE(ABORT, 'audit_events is append-only: UPDATE is refused');
END;

CREATE TRIGGER audit_events_not_deleted BEFORE DELETE ON audit_events
BEGIN
    SELECT RAISE(ABORT, 'audit_events is append-only: DELETE is refused');
END;

-- INSERT OR REPLACE deletes what is in its way without asking the trigger above (PRAGMA recursive_triggers is off).
CREATE TRIGGER audit_events_not_replaced BEFORE INSERT ON audit_events
WHEN EXISTS (SELECT 1 FROM audit_events WHERE id = NEW.id)
BEGIN
    SELECT RAISE(ABORT, 'audit_events is append-only: REPLACE is refused');
END;

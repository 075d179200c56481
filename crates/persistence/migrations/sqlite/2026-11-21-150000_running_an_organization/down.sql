CREATE TABLE audit_events_before (
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
        CHECK (subject_kind IN ('installation', 'organization', 'user', 'membership', 'api_key', 'session')),
    subject_id BLOB
        CONSTRAINT audit_events_subject_id_length_check CHECK (length(subject_id) = 16),
    outcome TEXT NOT NULL
        CONSTRAINT audit_events_outcome_check CHECK (outcome IN ('success', 'refused')),
    source_address TEXT,
    request_id TEXT,
    CONSTRAINT audit_events_actor_id_check
        CHECK ((actor_id IS NOT NULL) = (actor_kind IN ('user', 'api_key'))),
    CONSTRAINT audit_events_subject_id_check
        CHECK ((subject_id IS NOT NULL) = (subject_kind <> 'installation'))
    -- A row's number would be a second name for it, by which it could be replaced past the triggers below.
) STRICT, WITHOUT ROWID;

-- Events about what the version before does not know are left behind: it could not read them.
INSERT INTO audit_events_before
    SELECT id, occurred_at, organization_id, actor_kind, actor_id, action, subject_kind, subject_id, outcome,
        source_address, request_id
    FROM audit_events
    WHERE subject_kind NOT IN ('invitation', 'project');
DROP TABLE audit_events;
ALTER TABLE audit_events_before RENAME TO audit_events;

-- An organization's events, newest first (read backwards).
CREATE INDEX audit_events_organization_id_id_idx ON audit_events (organization_id, id)
    WHERE organization_id IS NOT NULL;
-- The events of no organization, newest first.
CREATE INDEX audit_events_installation_idx ON audit_events (id) WHERE organization_id IS NULL;

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

ALTER TABLE sessions DROP COLUMN started_from;
ALTER TABLE sessions DROP COLUMN user_agent;
ALTER TABLE api_keys DROP COLUMN revoked_note;
ALTER TABLE api_keys DROP COLUMN last_used_from;
ALTER TABLE api_keys DROP COLUMN last_used_at;
DROP TABLE project_members;
DROP TABLE projects;
DROP TABLE invitations;
DROP INDEX memberships_organization_id_id_idx;
ALTER TABLE users DROP COLUMN search_text;

-- Kind: additive

-- What running an organization needs: projects and who is in them, invitations, when keys were used, and what else an
-- event was about. Once this is done, the version before this one goes on beside it: it finds all that it knows. While
-- it runs, nobody reads or writes keys or audit events, for as long as the seven indexes of audit_events take to make:
-- some 16 s for a million events.

-- Username and display name, folded by the domain. Absent for users that the version before this one adds; bringing
-- the database up to date fills it in.
ALTER TABLE users ADD COLUMN search_text text;

-- An organization's live members, who joined last first (read backwards).
CREATE INDEX memberships_organization_id_id_idx ON memberships (organization_id, id) WHERE ended_at IS NULL;

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

-- An organization's invitations that have not ended, newest first (read backwards).
CREATE INDEX invitations_pending_idx ON invitations (organization_id, id)
    WHERE accepted_at IS NULL AND revoked_at IS NULL;

CREATE TABLE projects (
    id uuid NOT NULL CONSTRAINT projects_pkey PRIMARY KEY,
    organization_id uuid NOT NULL
        CONSTRAINT projects_organization_id_fkey REFERENCES organizations (id),
    name text NOT NULL,
    -- The name, folded by the domain.
    search_text text NOT NULL,
    created_at timestamptz NOT NULL,
    archived_at timestamptz
);

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

-- The last use is updated in place once a minute at most: room on each page keeps that off the indexes.
ALTER TABLE api_keys SET (fillfactor = 85);
ALTER TABLE api_keys
    ADD COLUMN last_used_at timestamptz,
    -- Absent also for a key that was used from nowhere in particular.
    ADD COLUMN last_used_from text,
    -- What an owner said when revoking it.
    ADD COLUMN revoked_note text,
    ADD CONSTRAINT api_keys_last_used_check CHECK (last_used_from IS NULL OR last_used_at IS NOT NULL),
    ADD CONSTRAINT api_keys_revoked_note_check CHECK (revoked_note IS NULL OR revoked_at IS NOT NULL);

-- A consumer's organization never changes; here, too, it makes one index of all keys of an organization. The database
-- sees to it, whatever version of Keyward adds the key. Absent for keys from before: bringing the database up to date
-- fills it in, part by part, so that no request waits for long.
CREATE FUNCTION api_keys_organization() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.organization_id := (SELECT organization_id FROM memberships WHERE id = NEW.consumer_id);
    RETURN NEW;
END;
$$;
ALTER TABLE api_keys ADD COLUMN organization_id uuid;
CREATE TRIGGER api_keys_organization BEFORE INSERT OR UPDATE OF consumer_id, organization_id ON api_keys
    FOR EACH ROW EXECUTE FUNCTION api_keys_organization();
-- An organization's keys, and its valid ones, newest first (read backwards).
CREATE INDEX api_keys_organization_id_id_idx ON api_keys (organization_id, id);
CREATE INDEX api_keys_organization_valid_idx ON api_keys (organization_id, id) WHERE revoked_at IS NULL;

ALTER TABLE sessions
    ADD COLUMN started_from text,
    ADD COLUMN user_agent text;

-- Like the action, what an event is about is checked in its form only from now on.
ALTER TABLE audit_events
    DROP CONSTRAINT audit_events_subject_kind_check,
    ADD CONSTRAINT audit_events_subject_kind_check CHECK (subject_kind ~ '^[a-z_]+$') NOT VALID,
    ADD COLUMN object_kind text
        CONSTRAINT audit_events_object_kind_check CHECK (object_kind ~ '^[a-z_]+$'),
    ADD COLUMN object_id uuid,
    ADD CONSTRAINT audit_events_object_check CHECK ((object_kind IS NULL) = (object_id IS NULL)) NOT VALID;
ALTER TABLE audit_events
    VALIDATE CONSTRAINT audit_events_subject_kind_check,
    VALIDATE CONSTRAINT audit_events_object_check;

-- What happened to an organization is read by moment, latest first (each index backwards): all of it, what one actor
-- did, one action, and what something was in. Moments are those that the events tell; identifiers are made by several
-- clocks. The version before this one only adds events.
DROP INDEX audit_events_organization_id_id_idx;
DROP INDEX audit_events_installation_idx;
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

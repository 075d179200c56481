-- Kind: additive

-- Everything an installation keeps.
--
-- Rules that one row can break are CHECKs, so that no road into the database gets around them. What a text may say is
-- the domain's rule alone; only words with a meaning are listed here. Names that people read sort by code point
-- (COLLATE "C"), the same on every server.

CREATE TABLE organizations (
    id uuid NOT NULL CONSTRAINT organizations_pkey PRIMARY KEY,
    slug text COLLATE "C" NOT NULL CONSTRAINT organizations_slug_key UNIQUE,
    name text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL
);

CREATE TABLE users (
    id uuid NOT NULL CONSTRAINT users_pkey PRIMARY KEY,
    username text COLLATE "C" NOT NULL CONSTRAINT users_username_key UNIQUE,
    display_name text NOT NULL,
    password_hash text NOT NULL,
    created_at timestamptz NOT NULL
);

CREATE TABLE memberships (
    id uuid NOT NULL CONSTRAINT memberships_pkey PRIMARY KEY,
    organization_id uuid NOT NULL
        CONSTRAINT memberships_organization_id_fkey REFERENCES organizations (id),
    user_id uuid NOT NULL
        CONSTRAINT memberships_user_id_fkey REFERENCES users (id),
    role text NOT NULL
        CONSTRAINT memberships_role_check CHECK (role IN ('owner', 'member')),
    joined_at timestamptz NOT NULL,
    ended_at timestamptz
);

-- Whoever comes back gets a new membership, but never two at a time.
CREATE UNIQUE INDEX memberships_live_key ON memberships (organization_id, user_id) WHERE ended_at IS NULL;
-- The organizations of a user.
CREATE INDEX memberships_user_id_idx ON memberships (user_id);

CREATE TABLE api_keys (
    id uuid NOT NULL CONSTRAINT api_keys_pkey PRIMARY KEY,
    consumer_id uuid NOT NULL
        CONSTRAINT api_keys_consumer_id_fkey REFERENCES memberships (id),
    -- SHA-256 of the token, which is stored nowhere.
    digest bytea NOT NULL
        CONSTRAINT api_keys_digest_key UNIQUE
        CONSTRAINT api_keys_digest_check CHECK (octet_length(digest) = 32),
    hint text NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    -- Name, description and the token's last four characters, folded by the domain.
    search_text text NOT NULL,
    created_by_user_id uuid
        CONSTRAINT api_keys_created_by_user_id_fkey REFERENCES users (id),
    -- No foreign key: a parent may be forgotten before its children.
    created_by_key_id uuid,
    creation_nonce bytea
        CONSTRAINT api_keys_creation_nonce_check CHECK (octet_length(creation_nonce) = 16),
    created_at timestamptz NOT NULL,
    revoked_at timestamptz,
    revoked_by_kind text
        CONSTRAINT api_keys_revoked_by_kind_check
        CHECK (revoked_by_kind IN ('user', 'api_key', 'administrator', 'anonymous')),
    revoked_by_id uuid,
    revoked_reason text
        CONSTRAINT api_keys_revoked_reason_check
        CHECK (revoked_reason IN ('holder', 'owner', 'leak', 'administrator')),
    CONSTRAINT api_keys_origin_check CHECK (num_nonnulls(created_by_user_id, created_by_key_id) = 1),
    CONSTRAINT api_keys_revocation_check CHECK (num_nonnulls(revoked_at, revoked_by_kind, revoked_reason) IN (0, 3)),
    CONSTRAINT api_keys_revoked_by_id_check
        CHECK ((revoked_by_id IS NOT NULL) = (coalesce(revoked_by_kind, '') IN ('user', 'api_key')))
);

-- A consumer's keys, newest first (read backwards).
CREATE INDEX api_keys_consumer_id_id_idx ON api_keys (consumer_id, id);
-- A consumer's valid keys, newest first, and how many there are.
CREATE INDEX api_keys_valid_idx ON api_keys (consumer_id, id) WHERE revoked_at IS NULL;
-- The children of a key.
CREATE INDEX api_keys_created_by_key_id_idx ON api_keys (created_by_key_id) WHERE created_by_key_id IS NOT NULL;
-- One form makes one key.
CREATE UNIQUE INDEX api_keys_creation_nonce_key ON api_keys (consumer_id, creation_nonce)
    WHERE creation_nonce IS NOT NULL;

CREATE TABLE audit_events (
    id uuid NOT NULL CONSTRAINT audit_events_pkey PRIMARY KEY,
    occurred_at timestamptz NOT NULL,
    -- No foreign keys: what happened stays true when what it happened to is gone.
    organization_id uuid,
    actor_kind text NOT NULL
        CONSTRAINT audit_events_actor_kind_check
        CHECK (actor_kind IN ('user', 'api_key', 'administrator', 'anonymous')),
    actor_id uuid,
    -- The form only: every version adds actions, and must not need to check the whole history for it.
    action text NOT NULL
        CONSTRAINT audit_events_action_check CHECK (action ~ '^[a-z_]+\.[a-z_]+$'),
    subject_kind text NOT NULL
        CONSTRAINT audit_events_subject_kind_check
        CHECK (subject_kind IN ('installation', 'organization', 'user', 'membership', 'api_key', 'session')),
    subject_id uuid,
    outcome text NOT NULL
        CONSTRAINT audit_events_outcome_check CHECK (outcome IN ('success', 'refused')),
    source_address text,
    request_id text,
    CONSTRAINT audit_events_actor_id_check
        CHECK ((actor_id IS NOT NULL) = (actor_kind IN ('user', 'api_key'))),
    CONSTRAINT audit_events_subject_id_check
        CHECK ((subject_id IS NOT NULL) = (subject_kind <> 'installation'))
);

-- An organization's events, newest first (read backwards).
CREATE INDEX audit_events_organization_id_id_idx ON audit_events (organization_id, id)
    WHERE organization_id IS NOT NULL;
-- The events of no organization, newest first.
CREATE INDEX audit_events_installation_idx ON audit_events (id) WHERE organization_id IS NULL;

CREATE FUNCTION refuse_to_change_audit_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit_events is append-only: % is refused', TG_OP USING ERRCODE = 'restrict_violation';
END
$$;

CREATE TRIGGER audit_events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_to_change_audit_events();
-- Also for a session that replays changes (session_replication_role = replica).
ALTER TABLE audit_events ENABLE ALWAYS TRIGGER audit_events_append_only;

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

CREATE TABLE installation (
    -- There is one row: this column can hold one value.
    only_row boolean NOT NULL DEFAULT true
        CONSTRAINT installation_pkey PRIMARY KEY
        CONSTRAINT installation_only_row_check CHECK (only_row),
    set_up_at timestamptz,
    setup_link_digest bytea
        CONSTRAINT installation_setup_link_digest_check CHECK (octet_length(setup_link_digest) = 32),
    setup_link_expires_at timestamptz,
    CONSTRAINT installation_setup_link_check CHECK (num_nonnulls(setup_link_digest, setup_link_expires_at) IN (0, 2)),
    CONSTRAINT installation_set_up_check CHECK (set_up_at IS NULL OR setup_link_digest IS NULL)
);

INSERT INTO installation DEFAULT VALUES;

-- Kind: additive

-- Everything an installation keeps.
--
-- Rules that one row can break are CHECKs, so that no road into the database gets around them. What a text may say is
-- the domain's rule alone; only words with a meaning are listed here.
--
-- Identifiers are their 16 bytes, which sort like the identifiers. Moments are milliseconds since 1970: exact, and
-- earlier is less, which texts promise only as long as everybody writes them alike. Texts sort by code point.

CREATE TABLE organizations (
    id BLOB NOT NULL CONSTRAINT organizations_pkey PRIMARY KEY
        CONSTRAINT organizations_id_check CHECK (length(id) = 16),
    slug TEXT NOT NULL CONSTRAINT organizations_slug_key UNIQUE,
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE users (
    id BLOB NOT NULL CONSTRAINT users_pkey PRIMARY KEY
        CONSTRAINT users_id_check CHECK (length(id) = 16),
    username TEXT NOT NULL CONSTRAINT users_username_key UNIQUE,
    display_name TEXT NOT NULL,
    password_hash TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

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
    ended_at INTEGER
) STRICT;

-- Whoever comes back gets a new membership, but never two at a time.
CREATE UNIQUE INDEX memberships_live_key ON memberships (organization_id, user_id) WHERE ended_at IS NULL;
-- The organizations of a user.
CREATE INDEX memberships_user_id_idx ON memberships (user_id);

CREATE TABLE api_keys (
    id BLOB NOT NULL CONSTRAINT api_keys_pkey PRIMARY KEY
        CONSTRAINT api_keys_id_check CHECK (length(id) = 16),
    consumer_id BLOB NOT NULL
        CONSTRAINT api_keys_consumer_id_fkey REFERENCES memberships (id),
    -- SHA-256 of the token, which is stored nowhere.
    digest BLOB NOT NULL
        CONSTRAINT api_keys_digest_key UNIQUE
        CONSTRAINT api_keys_digest_check CHECK (length(digest) = 32),
    hint TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    -- Name, description and the token's last four characters, folded by the domain.
    search_text TEXT NOT NULL,
    created_by_user_id BLOB
        CONSTRAINT api_keys_created_by_user_id_fkey REFERENCES users (id),
    -- No foreign key: a parent may be forgotten before its children.
    created_by_key_id BLOB
        CONSTRAINT api_keys_created_by_key_id_check CHECK (length(created_by_key_id) = 16),
    creation_nonce BLOB
        CONSTRAINT api_keys_creation_nonce_check CHECK (length(creation_nonce) = 16),
    created_at INTEGER NOT NULL,
    revoked_at INTEGER,
    revoked_by_kind TEXT
        CONSTRAINT api_keys_revoked_by_kind_check
        CHECK (revoked_by_kind IN ('user', 'api_key', 'administrator', 'anonymous')),
    revoked_by_id BLOB
        CONSTRAINT api_keys_revoked_by_id_length_check CHECK (length(revoked_by_id) = 16),
    revoked_reason TEXT
        CONSTRAINT api_keys_revoked_reason_check
        CHECK (revoked_reason IN ('holder', 'owner', 'leak', 'administrator')),
    CONSTRAINT api_keys_origin_check
        CHECK ((created_by_user_id IS NOT NULL) + (created_by_key_id IS NOT NULL) = 1),
    CONSTRAINT api_keys_revocation_check
        CHECK ((revoked_at IS NOT NULL) + (revoked_by_kind IS NOT NULL) + (revoked_reason IS NOT NULL) IN (0, 3)),
    CONSTRAINT api_keys_revoked_by_id_check
        CHECK ((revoked_by_id IS NOT NULL) = (coalesce(revoked_by_kind, '') IN ('user', 'api_key')))
) STRICT;

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

CREATE TABLE installation (
    -- There is one row: this column can hold one value.
    only_row INTEGER NOT NULL
        CONSTRAINT installation_pkey PRIMARY KEY
        CONSTRAINT installation_only_row_check CHECK (only_row = 1),
    set_up_at INTEGER,
    setup_link_digest BLOB
        CONSTRAINT installation_setup_link_digest_check CHECK (length(setup_link_digest) = 32),
    setup_link_expires_at INTEGER,
    CONSTRAINT installation_setup_link_check
        CHECK ((setup_link_digest IS NULL) = (setup_link_expires_at IS NULL)),
    CONSTRAINT installation_set_up_check CHECK (set_up_at IS NULL OR setup_link_digest IS NULL)
) STRICT;

INSERT INTO installation (only_row) VALUES (1);

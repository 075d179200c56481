-- One person's key creates another one, in the statements that Keyward sends (`persistence`, `sql/api_keys/add.rs`).
\set person random(1, :people)
BEGIN;
UPDATE memberships
SET changes_empty_at = least(greatest(changes_empty_at, now()) + interval '10 ms', now() + interval '1 minute')
WHERE id = ('01980000-0000-7000-8002-' || lpad(to_hex(:person::integer), 12, '0'))::uuid
    AND end_came_at IS NULL AND (ended_at IS NULL OR ended_at > now())
    AND (changes_empty_at IS NULL OR changes_empty_at <= now() + interval '59 s' OR changes_empty_at > now() + interval '6 minutes');
SELECT api_keys.can_manage_keys, api_keys.revoked_at, api_keys.end_came_at, memberships.ended_at, memberships.end_came_at
FROM api_keys INNER JOIN memberships ON api_keys.consumer_id = memberships.id
WHERE memberships.end_came_at IS NULL AND (memberships.ended_at IS NULL OR memberships.ended_at > now())
    AND api_keys.consumer_id = ('01980000-0000-7000-8002-' || lpad(to_hex(:person::integer), 12, '0'))::uuid
    AND api_keys.id = ('01980000-0000-7000-8003-' || lpad(to_hex(:person::integer), 12, '0'))::uuid
    AND api_keys.end_came_at IS NULL AND (api_keys.revoked_at IS NULL OR api_keys.revoked_at > now());
SELECT count(*) FROM api_keys
WHERE consumer_id = ('01980000-0000-7000-8002-' || lpad(to_hex(:person::integer), 12, '0'))::uuid
    AND end_came_at IS NULL AND (revoked_at IS NULL OR revoked_at > now());
SELECT organizations.id, organizations.new_keys_manage_keys, organizations.longest_key_life_days
FROM memberships INNER JOIN organizations ON memberships.organization_id = organizations.id
WHERE memberships.id = ('01980000-0000-7000-8002-' || lpad(to_hex(:person::integer), 12, '0'))::uuid;
INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text, created_by_key_id, created_at, can_manage_keys)
VALUES (
    gen_random_uuid(), ('01980000-0000-7000-8002-' || lpad(to_hex(:person::integer), 12, '0'))::uuid,
    sha256(gen_random_uuid()::text::bytea), 'kwp_…abcd', 'nightly', '', E'nightly\n\nabcd',
    ('01980000-0000-7000-8003-' || lpad(to_hex(:person::integer), 12, '0'))::uuid, now(), true
);
INSERT INTO audit_events (id, occurred_at, organization_id, actor_kind, actor_id, action, subject_kind, subject_id, outcome,
    source_address, request_id)
VALUES (
    gen_random_uuid(), now(), :organization::uuid, 'api_key',
    ('01980000-0000-7000-8003-' || lpad(to_hex(:person::integer), 12, '0'))::uuid, 'api_key.create', 'api_key', gen_random_uuid(),
    'success', '127.0.0.1', '01980000-0000-7000-8004-000000000000'
);
COMMIT;

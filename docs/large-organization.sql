-- Fills one organization with data for measurements: people, projects, keys and audit events of three years. For a PostgreSQL
-- database that can be thrown away, with one organization and its owner, as a superuser:
--
--   keyward migrate && keyward admin bootstrap --organization Engines --username ada --generate-password
--   psql "$KEYWARD_DATABASE_URL" -v keys=1000000 -v events=10000000 -f docs/large-organization.sql
--   keyward serve --keep-revoked-keys 36500
--
-- At least 10,000 keys, and at least as many events as keys. Triggers and indexes are set aside meanwhile, and indexes are built
-- again at the end. Random values come from MD5 of a number, so each run makes the same rows, except for the time.

\set ON_ERROR_STOP 1
BEGIN;
SET session_replication_role = replica;
SET synchronous_commit = off;
SET maintenance_work_mem = '1GB'; SET work_mem='256MB';

-- Indexes that only make questions fast.
CREATE TEMPORARY TABLE set_aside AS
    SELECT pg_class.oid, pg_class.relname AS name, pg_get_indexdef(pg_class.oid) AS definition
    FROM pg_index JOIN pg_class ON pg_class.oid = pg_index.indexrelid
    WHERE NOT indisunique AND indrelid = ANY (ARRAY['api_keys', 'api_key_search', 'audit_events']::regclass[]);
DO $$ DECLARE index record; BEGIN
    FOR index IN SELECT * FROM set_aside LOOP EXECUTE format('DROP INDEX %I', index.name); END LOOP;
END $$;

CREATE FUNCTION pg_temp.made_id(kind text, number bigint, at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT (lpad(to_hex(floor(extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7' || left(md5(kind || number), 3)
        || '8' || substr(md5(kind || number), 4, 15))::uuid
$$;
-- A number below 1, the same for the same number.
CREATE FUNCTION pg_temp.chance(kind text, number bigint) RETURNS double precision LANGUAGE sql IMMUTABLE AS $$
    SELECT ('x' || left(md5(kind || number), 7))::bit(28)::int / 268435456.0
$$;

CREATE TEMPORARY TABLE here AS
    SELECT organizations.id AS organization_id, now, now - interval '3 years' AS began, users.id AS owner_id, users.password_hash
    FROM date_trunc('milliseconds', now()) AS now, organizations
    JOIN memberships ON memberships.organization_id = organizations.id AND memberships.role = 'owner'
    JOIN users ON users.id = memberships.user_id
    LIMIT 1;

-- 5,000 people, of whom every tenth has left.
CREATE TEMPORARY TABLE people AS
    SELECT number, began + (number - 1) * interval '1 second' AS joined_at,
        pg_temp.made_id('user', number, began + (number - 1) * interval '1 second') AS user_id,
        pg_temp.made_id('membership', number, began + (number - 1) * interval '1 second') AS membership_id,
        (ARRAY['grace', 'alan', 'barbara', 'edsger', 'frances', 'tony', 'adele', 'donald', 'radia', 'leslie'])[1 + number % 10]
            AS first,
        (ARRAY['hopper', 'turing', 'liskov', 'dijkstra', 'allen', 'hoare', 'goldberg', 'knuth', 'perlman'])[1 + number % 9]
            AS last
    FROM here, generate_series(1, 5000) AS number;
INSERT INTO users (id, username, display_name, search_text, password_hash, created_at)
    SELECT user_id, first || number, initcap(first || ' ' || last), first || number || E'\n' || first || ' ' || last,
        password_hash, joined_at
    FROM people, here;
INSERT INTO memberships (id, organization_id, user_id, role, joined_at, ended_at, end_came_at)
    SELECT membership_id, organization_id, user_id, CASE WHEN number = 2 THEN 'owner' ELSE 'member' END, joined_at,
        CASE WHEN number % 10 = 9 THEN now - interval '60 days' END,
        CASE WHEN number % 10 = 9 THEN now - interval '60 days' END
    FROM people, here;
INSERT INTO projects (id, organization_id, name, search_text, created_at, archived_at)
    SELECT pg_temp.made_id('project', number, began + number * interval '1 hour'), organization_id, 'Project ' || number,
        'project ' || number, began + number * interval '1 hour', CASE WHEN number % 5 = 0 THEN now - interval '9 days' END
    FROM here, generate_series(1, 2000) AS number;
INSERT INTO project_members (membership_id, project_id, added_at)
    SELECT DISTINCT people.membership_id, made.project_id, now
    FROM here
    CROSS JOIN generate_series(1, 20000) AS place
    CROSS JOIN LATERAL (
        SELECT pg_temp.made_id('project', 1 + place % 2000, began + (1 + place % 2000) * interval '1 hour') AS project_id
    ) made
    JOIN people ON people.number = 1 + place * 7 % 5000
    WHERE people.number % 10 <> 9;

-- Every 33rd key is of the first person, and valid. The older half has a word in its descriptions that the newer has not.
CREATE TEMPORARY TABLE made AS
    SELECT number, created_at, pg_temp.made_id('key', number, created_at) AS id,
        CASE WHEN number % 33 = 0 THEN 1 ELSE 2 + number * 7919 % 4999 END AS holder,
        (ARRAY['deploy', 'backup', 'release', 'monitor', 'migrate', 'sync', 'report', 'import', 'notify', 'scan'])[1 + number % 10]
            || ' ' || (ARRAY['billing', 'search', 'mail', 'catalog', 'orders', 'identity', 'storage'])[1 + number % 7]
            || ' ' || (ARRAY['staging', 'production', 'laptop'])[1 + number % 3]
            || CASE WHEN number % 4 = 0 THEN ' ' || number ELSE '' END AS name,
        'runs on ' || (ARRAY['jenkins', 'github actions', 'gitlab', 'a cron job'])[1 + number % 4] || ', see ticket '
            || (number * 31 % 100000)
            || CASE WHEN number < :keys / 2 THEN ', legacy gateway' ELSE '' END
            || CASE WHEN number IN (1000, :keys / 5, :keys / 5 * 2) THEN ', the needle' ELSE '' END AS description,
        right(md5('hint' || number), 4) AS last_four,
        number % 33 <> 0
            AND pg_temp.chance('revoked', number) < CASE WHEN number < :keys / 2 THEN 0.5 ELSE 0.25 END AS is_revoked,
        date_trunc('milliseconds', CASE
            WHEN number % 5 = 0 THEN NULL
            WHEN pg_temp.chance('used', number) < 0.5
                THEN greatest(created_at, now - pg_temp.chance('recently', number) * interval '30 days')
            ELSE created_at + pg_temp.chance('then', number) * (now - created_at)
        END) AS last_used_at
    FROM here, generate_series(0::bigint, :keys - 1) AS number
    CROSS JOIN LATERAL (
        SELECT date_trunc('milliseconds', began + (number + 1) * ((now - began) / (:keys + 2))) AS created_at
    ) AS moment;
INSERT INTO api_keys (id, consumer_id, organization_id, digest, hint, name, description, search_text, created_by_user_id,
        created_at, tree_began_at, last_used_at, last_used_from, idle_since_day, used_on_day,
        revoked_at, end_came_at, revoked_by_kind, revoked_by_id, revoked_reason)
    SELECT made.id, membership_id, organization_id, sha256(('key' || made.number)::bytea), 'kwp_…' || last_four, name, description,
        name || E'\n' || lower(description) || E'\n' || last_four, user_id, created_at, created_at, last_used_at,
        CASE WHEN last_used_at IS NOT NULL THEN '203.0.113.' || made.number % 250 END,
        floor(extract(epoch FROM coalesce(last_used_at, created_at)) / 86400),
        floor(extract(epoch FROM last_used_at) / 86400),
        revoked_at, revoked_at,
        CASE WHEN is_revoked THEN 'user' END, CASE WHEN is_revoked THEN user_id END, CASE WHEN is_revoked THEN 'holder' END
    FROM here, made JOIN people ON people.number = made.holder
    CROSS JOIN LATERAL (
        SELECT CASE WHEN is_revoked THEN date_trunc('milliseconds', created_at + (now - created_at) / 2) END AS revoked_at
    ) AS revoked
    ORDER BY made.number;
INSERT INTO api_key_search (key_id, organization_id, search_text)
    SELECT id, organization_id, search_text FROM api_keys ORDER BY id;

-- Two of three events are of a key and by its holder, others by keys and by the owner.
INSERT INTO audit_events (id, occurred_at, organization_id, actor_kind, actor_id, action, subject_kind, subject_id, object_kind,
        object_id, outcome, source_address, request_id)
    SELECT pg_temp.made_id('event', event, occurred_at), occurred_at, organization_id,
        CASE WHEN event % 3 = 0 AND event % 2 = 0 THEN 'api_key' ELSE 'user' END,
        CASE WHEN event % 30 = 3 THEN owner_id WHEN event % 3 = 0 AND event % 2 = 0 THEN made.id ELSE user_id END,
        CASE event % 12
            WHEN 0 THEN 'session.sign_in' WHEN 1 THEN 'api_key.revoke' WHEN 2 THEN 'api_key.edit' WHEN 3 THEN 'api_key.use'
            WHEN 4 THEN 'session.sign_out' ELSE 'api_key.create' END,
        CASE WHEN event % 12 IN (0, 4) THEN 'user' ELSE 'api_key' END,
        CASE WHEN event % 12 IN (0, 4) THEN user_id ELSE made.id END,
        CASE WHEN event % 12 IN (0, 4) THEN NULL ELSE 'membership' END,
        CASE WHEN event % 12 IN (0, 4) THEN NULL ELSE membership_id END,
        'success', '203.0.113.' || event % 250, md5('request' || event)
    FROM here, generate_series(0::bigint, :events - 1) AS event
    CROSS JOIN LATERAL (
        SELECT date_trunc('milliseconds', began + (event + 1) * ((now - began) / (:events + 2))) AS occurred_at
    ) AS moment
    JOIN made ON made.number = event * :keys / :events
    JOIN people ON people.number = made.holder;

DO $$ DECLARE index record; BEGIN
    FOR index IN SELECT * FROM set_aside ORDER BY oid LOOP EXECUTE index.definition; END LOOP;
END $$;
DROP TABLE set_aside, here, people, made;
COMMIT;
-- Otherwise PostgreSQL would do this minutes later.
VACUUM ANALYZE;

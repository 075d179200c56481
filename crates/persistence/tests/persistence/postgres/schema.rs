//! Constraints of the database, and the comparison of `schema.rs` with its tables.

use tokio_postgres::Row;

use crate::postgres::fixture::{Fixture, connect, count, migrated_database};
use crate::schema_file::{Column, SchemaFile};

/// The SQLSTATE and the constraint or message with which a statement is refused.
async fn refusal(fixture: &Fixture, statement: &str) -> (String, String) {
    let error = fixture
        .client
        .batch_execute(statement)
        .await
        .expect_err(statement);
    let error = error.as_db_error().expect("a refusal by the database");
    let name = error.constraint().unwrap_or(error.message());
    (error.code().code().to_owned(), name.to_owned())
}

#[tokio::test]
async fn audit_events_are_append_only() {
    let fixture = Fixture::new().await;
    let before = count(&fixture.client, "audit_events").await;
    for (statement, operation) in [
        ("UPDATE audit_events SET outcome = 'refused'", "UPDATE"),
        (
            "UPDATE audit_events SET outcome = 'refused' WHERE false",
            "UPDATE",
        ),
        ("DELETE FROM audit_events", "DELETE"),
        ("TRUNCATE audit_events", "TRUNCATE"),
        (
            "SET session_replication_role = replica; DELETE FROM audit_events",
            "DELETE",
        ),
    ] {
        let (code, message) = refusal(&fixture, statement).await;
        assert_eq!(code, "23001", "{statement}");
        assert_eq!(
            message,
            format!("audit_events is append-only: {operation} is refused")
        );
    }
    assert_eq!(count(&fixture.client, "audit_events").await, before);
}

/// `pg_restore` creates them so, and from PostgreSQL 17 on so does every statement that creates them anew.
#[tokio::test]
async fn indexes_can_be_made_with_an_empty_search_path() {
    let fixture = Fixture::new().await;
    let client = &fixture.client;
    assert_ne!(count(client, "api_key_search").await, 0, "nothing to index");
    let alone = client.batch_execute("SET search_path = ''").await;
    alone.expect("an empty search path");
    let made = client.batch_execute("REINDEX SCHEMA public").await;
    made.expect("indexes that depend on no search path");
}

#[tokio::test]
async fn digest_is_32_bytes_and_unique() {
    let fixture = Fixture::new().await;
    for digest in [
        "'\\x'",
        "decode(repeat('00', 31), 'hex')",
        "decode(repeat('00', 33), 'hex')",
    ] {
        let refused = refusal(&fixture, &format!("UPDATE api_keys SET digest = {digest}")).await;
        assert_eq!(refused, ("23514".to_owned(), "api_keys_digest_check".to_owned()));
    }
    let (code, _) = refusal(&fixture, "UPDATE api_keys SET digest = NULL").await;
    assert_eq!(code, "23502");
    let copy = "INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text,
                                      created_by_user_id, created_at)
                SELECT gen_random_uuid(), consumer_id, digest, hint, name, description, search_text,
                       created_by_user_id, created_at FROM api_keys";
    let refused = refusal(&fixture, copy).await;
    assert_eq!(refused, ("23505".to_owned(), "api_keys_digest_key".to_owned()));
}

#[tokio::test]
async fn contradictory_rows_are_rejected() {
    let fixture = Fixture::new().await;
    for (statement, constraint) in [
        ("UPDATE api_keys SET created_by_key_id = id", "api_keys_origin_check"),
        ("UPDATE api_keys SET created_by_user_id = NULL", "api_keys_origin_check"),
        ("UPDATE api_keys SET revoked_at = created_at", "api_keys_revocation_check"),
        ("UPDATE api_keys SET revoked_reason = 'leak'", "api_keys_revocation_check"),
        (
            "UPDATE api_keys SET revoked_at = created_at, revoked_by_kind = 'user', revoked_reason = 'leak'",
            "api_keys_revoked_by_id_check",
        ),
        (
            "UPDATE api_keys SET revoked_at = created_at, revoked_by_kind = 'ghost', revoked_reason = 'leak'",
            "api_keys_revoked_by_kind_check",
        ),
        (
            "UPDATE api_keys SET revoked_at = created_at, revoked_by_kind = 'anonymous', revoked_reason = 'x'",
            "api_keys_revoked_reason_check",
        ),
        ("UPDATE api_keys SET idempotency_key = '\\x00'", "api_keys_idempotency_key_check"),
        (
            "UPDATE api_keys SET request_digest = '\\x00', idempotency_key = substr(digest, 1, 16)",
            "api_keys_request_digest_check",
        ),
        (
            "UPDATE api_keys SET request_digest = substr(digest, 1, 16), idempotency_key = NULL",
            "api_keys_request_check",
        ),
        (
            "INSERT INTO invitations (id, organization_id, digest, invitee, role, invited_by_kind, created_at, expires_at,
                                      idempotency_key)
             SELECT gen_random_uuid(), id, sha256('x'), 'x', 'member', 'administrator', now(), now(), '\\x00'
             FROM organizations",
            "invitations_idempotency_key_check",
        ),
        (
            "INSERT INTO projects (id, organization_id, name, search_text, created_at, idempotency_key)
             SELECT gen_random_uuid(), id, 'x', 'x', now(), '\\x00' FROM organizations",
            "projects_idempotency_key_check",
        ),
        ("UPDATE memberships SET role = 'king'", "memberships_role_check"),
        ("INSERT INTO installation DEFAULT VALUES", "installation_pkey"),
        (
            "INSERT INTO installation (only_row) VALUES (false)",
            "installation_only_row_check",
        ),
        (
            "UPDATE installation SET setup_link_expires_at = now()",
            "installation_setup_link_check",
        ),
        (
            "UPDATE installation SET setup_link_expires_at = now(), setup_link_digest = sha256('x')",
            "installation_set_up_check",
        ),
        (
            "INSERT INTO memberships SELECT gen_random_uuid(), organization_id, user_id, role, joined_at, NULL
             FROM memberships",
            "memberships_live_key",
        ),
        (
            "INSERT INTO audit_events (id, occurred_at, actor_kind, action, subject_kind, outcome)
             VALUES (gen_random_uuid(), now(), 'user', 'api_key.create', 'installation', 'success')",
            "audit_events_actor_id_check",
        ),
        (
            "INSERT INTO audit_events (id, occurred_at, actor_kind, action, subject_kind, outcome)
             VALUES (gen_random_uuid(), now(), 'anonymous', 'api_key.create', 'user', 'success')",
            "audit_events_subject_id_check",
        ),
        (
            "INSERT INTO audit_events (id, occurred_at, actor_kind, action, subject_kind, outcome)
             VALUES (gen_random_uuid(), now(), 'anonymous', 'nothing', 'installation', 'success')",
            "audit_events_action_check",
        ),
    ] {
        assert_eq!(refusal(&fixture, statement).await.1, constraint, "{statement}");
    }
}

const SCHEMA: SchemaFile = SchemaFile {
    tables: include_str!("../../../src/postgres/schema.rs"),
    dialect: include_str!("../../../src/postgres/dialect.rs"),
    unnamed: &[("api_keys", "idle_since_day"), ("api_keys", "used_on_day")],
};

#[tokio::test]
async fn schema_rs_describes_the_migrated_tables() {
    let database = migrated_database().await;
    let rows = connect(database.url())
        .await
        .query(
            "SELECT relname::text,
                    (SELECT string_agg(attname, ', ' ORDER BY array_position(indkey::smallint[], attnum))
                     FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
                     WHERE indisprimary AND indrelid = pg_class.oid),
                    attname::text,
                    replace(CASE WHEN attnotnull THEN '?' ELSE 'Nullable<?>' END, '?', CASE typname
                        WHEN 'bool' THEN 'Bool' WHEN 'bytea' THEN 'Binary' WHEN 'int4' THEN 'Int4' WHEN 'int8' THEN 'BigInt'
                        WHEN 'text' THEN 'Text' WHEN 'timestamptz' THEN 'Timestamptz' WHEN 'uuid' THEN 'Uuid'
                        ELSE typname END)
             FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid JOIN pg_type ON pg_type.oid = atttypid
             WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
               AND NOT starts_with(relname, '__diesel')
             ORDER BY relname COLLATE \"C\", attnum",
            &[],
        )
        .await
        .expect("the catalogue");
    let column = |row: &Row| Column {
        table: row.get(0),
        primary_key: row.get::<_, Option<String>>(1).unwrap_or_default(),
        name: row.get(2),
        sql_type: row.get(3),
    };
    SCHEMA.assert_describes(&rows.iter().map(column).collect::<Vec<_>>());
}

#[tokio::test]
async fn schema_rs_joins_tables_by_foreign_keys_only() {
    let database = migrated_database().await;
    let keys = connect(database.url())
        .await
        .query(
            "SELECT conrelid::regclass::text, confrelid::regclass::text, attname::text
             FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = ALL (conkey) WHERE contype = 'f'",
            &[],
        )
        .await
        .expect("the catalogue");
    let parts = |row: &Row| [row.get(0), row.get(1), row.get(2)];
    SCHEMA.assert_joins_are_foreign_keys(&keys.iter().map(parts).collect::<Vec<_>>());
}

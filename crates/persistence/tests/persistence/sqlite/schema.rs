//! Constraints of the database, and the comparison of `schema.rs` with its tables.

use diesel::connection::SimpleConnection;
use diesel::result::Error as QueryError;

use crate::schema_file::{Column, SchemaFile};
use crate::sqlite::fixture::Fixture;

/// The words with which a statement is refused.
fn refusal(fixture: &Fixture, statement: &str) -> String {
    match fixture.directory.connect().batch_execute(statement) {
        Err(QueryError::DatabaseError(_, information)) => information.message().to_owned(),
        other => panic!("{statement}: {other:?}"),
    }
}

#[tokio::test]
async fn audit_events_are_append_only() {
    let fixture = Fixture::new().await;
    let log = "SELECT quote(id) || outcome AS text FROM audit_events ORDER BY 1";
    let before = fixture.directory.texts(log);
    for (statement, operation) in [
        ("UPDATE audit_events SET outcome = 'refused'", "UPDATE"),
        (
            "UPDATE OR REPLACE audit_events SET id = (SELECT min(id) FROM audit_events)",
            "UPDATE",
        ),
        ("DELETE FROM audit_events", "DELETE"),
        ("REPLACE INTO audit_events SELECT * FROM audit_events", "REPLACE"),
        (
            "INSERT INTO audit_events SELECT * FROM audit_events WHERE true
             ON CONFLICT (id) DO UPDATE SET outcome = 'refused'",
            "REPLACE",
        ),
    ] {
        let expected = format!("audit_events is append-only: {operation} is refused");
        assert_eq!(refusal(&fixture, statement), expected, "{statement}");
    }
    let by_row_number =
        "REPLACE INTO audit_events (rowid, id, occurred_at, actor_kind, action, subject_kind, outcome)
                         VALUES (1, randomblob(16), 0, 'anonymous', 'a.b', 'installation', 'success')";
    assert_eq!(
        refusal(&fixture, by_row_number),
        "table audit_events has no column named rowid"
    );
    assert_eq!(fixture.directory.texts(log), before);
}

#[tokio::test]
async fn audit_event_numbers_are_append_only() {
    let fixture = Fixture::new().await;
    let numbers = "SELECT position || quote(event_id) AS text FROM audit_positions ORDER BY 1";
    let before = fixture.directory.texts(numbers);
    assert_ne!(before, Vec::<String>::new());
    for (statement, operation) in [
        ("UPDATE audit_positions SET position = position + 1", "UPDATE"),
        ("DELETE FROM audit_positions", "DELETE"),
        (
            "REPLACE INTO audit_positions SELECT * FROM audit_positions",
            "REPLACE",
        ),
        (
            "REPLACE INTO audit_positions VALUES (1, randomblob(16))",
            "REPLACE",
        ),
    ] {
        let expected = format!("audit_positions is append-only: {operation} is refused");
        assert_eq!(refusal(&fixture, statement), expected, "{statement}");
    }
    assert_eq!(fixture.directory.texts(numbers), before);
}

#[tokio::test]
async fn identifiers_and_digests_have_fixed_length_and_type() {
    let fixture = Fixture::new().await;
    let table_of = |check: &str| {
        check
            .split("_id")
            .next()
            .expect("a table")
            .replace("_digest_check", "")
    };
    for digest in ["x''", "zeroblob(31)", "zeroblob(33)"] {
        let refused = refusal(&fixture, &format!("UPDATE api_keys SET digest = {digest}"));
        assert_eq!(refused, "CHECK constraint failed: api_keys_digest_check");
    }
    assert_eq!(
        refusal(
            &fixture,
            "UPDATE api_keys SET digest = 'text of exactly thirty-two bytes'"
        ),
        "cannot store TEXT value in BLOB column api_keys.digest"
    );
    assert_eq!(
        refusal(&fixture, "UPDATE api_keys SET created_at = 'yesterday'"),
        "cannot store TEXT value in INTEGER column api_keys.created_at"
    );
    assert_eq!(
        refusal(&fixture, "UPDATE api_keys SET digest = NULL"),
        "NOT NULL constraint failed: api_keys.digest"
    );
    let copy = "INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text,
                                      created_by_user_id, created_at)
                SELECT randomblob(16), consumer_id, digest, hint, name, description, search_text,
                       created_by_user_id, created_at FROM api_keys";
    assert_eq!(
        refusal(&fixture, copy),
        "UNIQUE constraint failed: api_keys.digest"
    );
    for check in [
        "organizations_id_check",
        "users_id_check",
        "memberships_id_check",
        "api_keys_id_check",
    ] {
        let statement = format!(
            "PRAGMA foreign_keys = OFF; UPDATE {} SET id = zeroblob(15)",
            table_of(check)
        );
        assert_eq!(
            refusal(&fixture, &statement),
            format!("CHECK constraint failed: {check}")
        );
    }
}

#[tokio::test]
async fn contradictory_rows_are_rejected() {
    let fixture = Fixture::new().await;
    let event = "INSERT INTO audit_events (id, occurred_at, actor_kind, action, subject_kind, outcome)
                 VALUES (randomblob(16), 0";
    for (statement, constraint) in [
        (
            "UPDATE api_keys SET created_by_key_id = id".to_owned(),
            "api_keys_origin_check",
        ),
        (
            "UPDATE api_keys SET adoptive_parent_key_id = zeroblob(15)".to_owned(),
            "api_keys_adoptive_parent_key_id_check",
        ),
        (
            "UPDATE api_keys SET skip_key_id = zeroblob(15)".to_owned(),
            "api_keys_skip_key_id_check",
        ),
        (
            "UPDATE api_keys SET created_by_user_id = NULL".to_owned(),
            "api_keys_origin_check",
        ),
        (
            "UPDATE api_keys SET revoked_at = created_at".to_owned(),
            "api_keys_revocation_check",
        ),
        (
            "UPDATE api_keys SET revoked_reason = 'leak'".to_owned(),
            "api_keys_revocation_check",
        ),
        (
            "UPDATE api_keys SET revoked_at = 0, revoked_by_kind = 'user', revoked_reason = 'leak'"
                .to_owned(),
            "api_keys_revoked_by_id_check",
        ),
        (
            "UPDATE api_keys SET revoked_at = 0, revoked_by_kind = 'ghost', revoked_reason = 'leak'"
                .to_owned(),
            "api_keys_revoked_by_kind_check",
        ),
        (
            "UPDATE api_keys SET revoked_at = 0, revoked_by_kind = 'anonymous', revoked_reason = 'x'"
                .to_owned(),
            "api_keys_revoked_reason_check",
        ),
        (
            "UPDATE api_keys SET idempotency_key = x'00'".to_owned(),
            "api_keys_idempotency_key_check",
        ),
        (
            "UPDATE api_keys SET request_digest = x'00', idempotency_key = randomblob(16)".to_owned(),
            "api_keys_request_digest_check",
        ),
        (
            "UPDATE api_keys SET request_digest = randomblob(16), idempotency_key = NULL".to_owned(),
            "api_keys_request_check",
        ),
        (
            "INSERT INTO invitations (id, organization_id, digest, invitee, role, invited_by_kind, created_at, expires_at,
                                      idempotency_key)
             SELECT randomblob(16), id, randomblob(32), 'x', 'member', 'administrator', 0, 0, x'00' FROM organizations"
                .to_owned(),
            "invitations_idempotency_key_check",
        ),
        (
            "INSERT INTO projects (id, organization_id, name, search_text, created_at, idempotency_key)
             SELECT randomblob(16), id, 'x', 'x', 0, x'00' FROM organizations"
                .to_owned(),
            "projects_idempotency_key_check",
        ),
        (
            "UPDATE memberships SET role = 'king'".to_owned(),
            "memberships_role_check",
        ),
        (
            "INSERT INTO installation (only_row) VALUES (0)".to_owned(),
            "installation_only_row_check",
        ),
        (
            "UPDATE installation SET setup_link_expires_at = 0".to_owned(),
            "installation_setup_link_check",
        ),
        (
            "UPDATE installation SET setup_link_expires_at = 0, setup_link_digest = zeroblob(32)".to_owned(),
            "installation_set_up_check",
        ),
        (
            format!("{event}, 'user', 'api_key.create', 'installation', 'success')"),
            "audit_events_actor_id_check",
        ),
        (
            format!("{event}, 'anonymous', 'api_key.create', 'user', 'success')"),
            "audit_events_subject_id_check",
        ),
        (
            format!("{event}, 'anonymous', 'nothing', 'installation', 'success')"),
            "audit_events_action_check",
        ),
        (
            format!("{event}, 'anonymous', 'a.b.c', 'installation', 'success')"),
            "audit_events_action_check",
        ),
        (
            format!("{event}, 'anonymous', 'Key.add', 'installation', 'success')"),
            "audit_events_action_check",
        ),
        (
            format!("{event}, 'anonymous', '.add', 'installation', 'success')"),
            "audit_events_action_check",
        ),
    ] {
        let expected = format!("CHECK constraint failed: {constraint}");
        assert_eq!(refusal(&fixture, &statement), expected, "{statement}");
    }
    for (statement, refused) in [
        (
            "INSERT INTO installation (only_row) VALUES (1)",
            "UNIQUE constraint failed: installation.only_row",
        ),
        (
            "INSERT INTO memberships SELECT randomblob(16), organization_id, user_id, role, joined_at, NULL, NULL, NULL, NULL
             FROM memberships",
            "UNIQUE constraint failed: memberships.organization_id, memberships.user_id",
        ),
        (
            "UPDATE api_keys SET consumer_id = randomblob(16)",
            "FOREIGN KEY constraint failed",
        ),
        (
            "UPDATE api_keys SET organization_id = randomblob(16)",
            "FOREIGN KEY constraint failed",
        ),
        (
            "UPDATE api_keys SET organization_id = NULL",
            "NOT NULL constraint failed: api_keys.organization_id",
        ),
        ("DELETE FROM users", "FOREIGN KEY constraint failed"),
    ] {
        assert_eq!(refusal(&fixture, statement), refused, "{statement}");
    }
}

#[tokio::test]
async fn every_key_belongs_to_its_consumers_organization() {
    let fixture = Fixture::new().await;
    let joined = "api_keys JOIN memberships ON memberships.id = api_keys.consumer_id";
    let right = format!("{joined} WHERE api_keys.organization_id = memberships.organization_id");
    assert_ne!(fixture.directory.count(&right), 0);
    assert_eq!(
        fixture.directory.count(&right),
        fixture.directory.count("api_keys")
    );
    let of_no_consumer = "INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text,
                         created_by_user_id, created_at)
                     SELECT randomblob(16), randomblob(16), randomblob(32), hint, name, description, search_text,
                         created_by_user_id, created_at FROM api_keys";
    assert_eq!(refusal(&fixture, of_no_consumer), "FOREIGN KEY constraint failed");
}

const SCHEMA: SchemaFile = SchemaFile {
    tables: include_str!("../../../src/sqlite/schema.rs"),
    dialect: include_str!("../../../src/sqlite/dialect.rs"),
    unnamed: &[],
};

#[tokio::test]
async fn schema_rs_describes_the_migrated_tables() {
    let fixture = Fixture::new().await;
    // Without the tables of FTS5.
    let columns = "SELECT concat_ws('|', tables.name,
               (SELECT group_concat(name, ', ' ORDER BY pk) FROM pragma_table_info(tables.name) WHERE pk > 0),
               columns.name,
               iif(\"notnull\", '', 'Nullable<')
                   || CASE columns.type WHEN 'BLOB' THEN 'Binary' WHEN 'TEXT' THEN 'Text' WHEN 'INTEGER' THEN 'BigInt'
                      ELSE columns.type END
                   || iif(\"notnull\", '', '>')) AS text
         FROM sqlite_schema AS tables JOIN pragma_table_info(tables.name) AS columns
         WHERE tables.type = 'table' AND tables.name NOT GLOB '__diesel*' AND tables.name NOT GLOB 'api_key_grams*'
         ORDER BY tables.name, columns.cid";
    let columns: Vec<Column> = fixture
        .directory
        .texts(columns)
        .iter()
        .map(|line| column(line))
        .collect();
    SCHEMA.assert_describes(&columns);
}

#[tokio::test]
async fn schema_rs_joins_tables_by_foreign_keys_only() {
    let fixture = Fixture::new().await;
    let foreign_keys = "SELECT concat_ws('|', tables.name, keys.\"table\", keys.\"from\") AS text
         FROM sqlite_schema AS tables JOIN pragma_foreign_key_list(tables.name) AS keys
         WHERE tables.type = 'table' ORDER BY tables.name, keys.\"table\", keys.\"from\"";
    let foreign_keys: Vec<[String; 3]> = fixture
        .directory
        .texts(foreign_keys)
        .iter()
        .map(|line| {
            let parts: Vec<String> = line.split('|').map(str::to_owned).collect();
            parts.try_into().expect("three parts")
        })
        .collect();
    SCHEMA.assert_joins_are_foreign_keys(&foreign_keys);
}

fn column(line: &str) -> Column {
    let mut parts = line.split('|').map(str::to_owned);
    let mut next = || parts.next().expect("four parts");
    Column {
        table: next(),
        primary_key: next(),
        name: next(),
        sql_type: next(),
    }
}

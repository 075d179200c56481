//! An import refuses rows that the domain could not read back.

use crate::database::Database;
use crate::schema_file::texts_of_keys;
use crate::transfer::everything::{export_of, id, rows};

/// A table, a column, the row's number, how the value begins, and what replaces that.
type Case = (&'static str, &'static str, u32, &'static str, &'static str);

const ADA: &str = r#""00000000-0000-7000-8000-000000000002""#;
const MEMBERSHIP: &str = r#""00000000-0000-7000-8000-000000000005""#;
const KEY: &str = r#""00000000-0000-7000-8000-000000000007""#;
const PROJECT: &str = r#""00000000-0000-7000-8000-00000000000c""#;

const MEMBERS: &[Case] = &[
    ("organizations", "slug", 1, r#""acme""#, r#""Acme-secret""#),
    ("organizations", "name", 1, r#"""#, r#""secret\u0007"#),
    ("organizations", "created_at", 1, r#""2026-"#, r#""-0001-"#),
    ("users", "username", 2, r#""ada""#, r#""a secret""#),
    ("users", "display_name", 3, r#""Bob""#, r#""""#),
    ("users", "created_at", 3, r#""1969-"#, r#""+10000-"#),
    ("memberships", "role", 4, r#""owner""#, r#""secret""#),
    ("memberships", "joined_at", 4, r#""2026"#, r#""-2026"#),
    ("memberships", "ended_at", 6, r#""9999-"#, r#""+10000-"#),
    ("memberships", "changes_empty_at", 4, r#""2026"#, r#""+12026"#),
    ("invitations", "digest", 10, r#""0303"#, r#"""#),
    ("invitations", "invitee", 11, r#""bob""#, r#""secret\nbob""#),
    ("invitations", "role", 11, r#""owner""#, r#""secret""#),
    ("invitations", "invited_by_kind", 10, r#""user""#, r#""secret""#),
    ("invitations", "invited_by_id", 10, ADA, "null"),
    ("invitations", "accepted_membership_id", 10, MEMBERSHIP, "null"),
    (
        "invitations",
        "accepted_at",
        10,
        r#""2026-01-02T00:00:00Z""#,
        "null",
    ),
    (
        "invitations",
        "revoked_at",
        10,
        "null",
        r#""2026-01-02T00:00:00Z""#,
    ),
    ("invitations", "idempotency_key", 10, r#""fefe"#, r#"""#),
    ("invitations", "created_at", 10, r#""2026"#, r#""-2026"#),
    ("invitations", "expires_at", 10, r#""2026"#, r#""-2026"#),
    ("invitations", "accepted_at", 10, r#""2026"#, r#""-2026"#),
    ("invitations", "revoked_at", 11, r#""2026"#, r#""-2026"#),
    ("projects", "idempotency_key", 12, r#""fdfd"#, r#"""#),
    ("projects", "name", 12, r#"""#, r#""\n"#),
    ("projects", "created_at", 12, r#""2026"#, r#""-2026"#),
    ("projects", "archived_at", 12, r#""2026"#, r#""-2026"#),
    ("project_members", "added_at", 4, r#""2026-"#, r#""-2026-"#),
];

const KEYS: &[Case] = &[
    ("api_keys", "digest", 7, r#""0000000000000000"#, r#"""#),
    ("api_keys", "hint", 7, r#""kwp_…"#, r#""kwp_secret"#),
    ("api_keys", "name", 8, r#""child""#, r#""""#),
    (
        "api_keys",
        "created_by_user_id",
        8,
        r#"null,"created_by_key_id":"00000000-0000-7000-8000-000000000007""#,
        r#"null,"created_by_key_id":null"#,
    ),
    (
        "api_keys",
        "created_by_key_id",
        7,
        "null",
        r#""00000000-0000-7000-8000-000000000008""#,
    ),
    ("api_keys", "idempotency_key", 7, r#""ffff"#, r#"""#),
    ("api_keys", "request_digest", 7, r#""fcfc"#, r#"""#),
    ("api_keys", "created_at", 7, r#""2026"#, r#""-2026"#),
    (
        "api_keys",
        "revoked_at",
        8,
        r#""2026-01-02T00:00:00.456Z""#,
        "null",
    ),
    ("api_keys", "revoked_at", 8, r#""2026-01-02"#, r#""-2026-01-02"#),
    ("api_keys", "revoked_by_kind", 8, r#""user""#, "null"),
    ("api_keys", "revoked_by_kind", 8, r#""user""#, r#""secret""#),
    ("api_keys", "revoked_by_id", 8, ADA, "null"),
    ("api_keys", "revoked_reason", 8, r#""holder""#, "null"),
    ("api_keys", "revoked_reason", 8, r#""holder""#, r#""Secret""#),
    ("api_keys", "revoked_note", 8, r#"""#, r#""secret\u0001"#),
    ("api_keys", "last_used_at", 7, r#""2026-01-01T00:00:01Z""#, "null"),
    (
        "api_keys",
        "last_used_at",
        7,
        r#""2026-01-01T00:00:01Z""#,
        r#""-2026-01-01T00:00:01Z""#,
    ),
    ("api_keys", "last_used_from", 7, r#""2001:db8::1"#, r#""secret"#),
    ("api_keys", "tree_depth", 8, "1", "-1"),
];

const RECORDS: &[Case] = &[
    ("audit_events", "actor_kind", 1_000, r#""user""#, r#""secret""#),
    ("audit_events", "actor_id", 1_000, ADA, "null"),
    (
        "audit_events",
        "action",
        1_000,
        r#""api_key.create"#,
        r#""secret"#,
    ),
    (
        "audit_events",
        "subject_kind",
        1_000,
        r#""api_key""#,
        r#""secret-kind""#,
    ),
    ("audit_events", "subject_id", 1_000, KEY, "null"),
    (
        "audit_events",
        "object_kind",
        1_001,
        r#""project""#,
        r#""secret-kind""#,
    ),
    ("audit_events", "object_kind", 1_001, r#""project""#, "null"),
    ("audit_events", "object_id", 1_001, PROJECT, "null"),
    ("audit_events", "outcome", 1_000, r#""success""#, r#""secret""#),
    (
        "audit_events",
        "source_address",
        1_000,
        r#""2001:db8::1"#,
        r#""secret"#,
    ),
    ("audit_events", "occurred_at", 1_000, r#""2026-"#, r#""-2026-"#),
    ("sessions", "digest", 9, r#""0101"#, r#"""#),
    ("sessions", "started_at", 9, r#""2026"#, r#""-2026"#),
    ("sessions", "last_seen_at", 9, r#""2026"#, r#""-2026"#),
    ("sessions", "started_from", 9, r#""203.0.113.7"#, r#""secret"#),
    ("sign_in_throttle", "bucket", 0, r#""0202"#, r#"""#),
    ("sign_in_throttle", "empty_at", 0, r#""2026-"#, r#""-2026-"#),
    ("installation", "set_up_at", 0, r#""2026-"#, r#""-2026-"#),
    ("installation", "setup_link_digest", 0, "null", r#""00""#),
    (
        "installation",
        "setup_link_expires_at",
        0,
        "null",
        r#""-2026-01-01T00:00:00Z""#,
    ),
    ("installation", "browser_key", 0, r#""0404"#, r#"""#),
];

fn name_of(table: &str, number: u32) -> String {
    match table {
        "sign_in_throttle" => "that line".to_owned(),
        "installation" => "the only row".to_owned(),
        _ => id(number),
    }
}

async fn expect_refusals(cases: &[Case]) {
    let whole = rows();
    let databases = Database::both().await;
    let empty = [databases[0].export().await, databases[1].export().await];
    for (number, &(table, column, row, from, to)) in cases.iter().enumerate() {
        let name = name_of(table, row);
        let index = whole
            .iter()
            .position(|line| {
                line.starts_with(&format!("{{\"{table}\":"))
                    && (row == 0 || line.contains(&format!("id\":\"{name}\"")))
            })
            .unwrap_or_else(|| panic!("no row {row} of {table}"));
        let mut rows = whole.clone();
        let member = |value: &str| format!("\"{column}\":{value}");
        rows[index] = whole[index].replacen(&member(from), &member(to), 1);
        assert_ne!(rows[index], whole[index], "{table}.{column}");
        // Rows are read before any database sees them, so one of the two will do.
        let import = databases[number % 2].import(export_of(&rows).await).await;
        let refused = import.expect_err("a refusal").to_string();
        let beginning = format!(
            "line {} cannot be read as Keyward reads its database (corrupt row in storage: {table}.{column} of {name}: ",
            index + 2
        );
        assert!(refused.starts_with(&beginning), "{column}: {refused}");
        assert!(
            refused
                .ends_with("): correct that row in the database that the export came from, and export again"),
            "{refused}"
        );
        assert!(!refused.contains("secret"), "{refused}");
    }
    for (database, before) in databases.iter().zip(empty) {
        assert!(database.export().await == before, "something is left");
    }
}

#[tokio::test]
async fn import_refuses_unreadable_members() {
    expect_refusals(MEMBERS).await;
}

#[tokio::test]
async fn import_refuses_unreadable_keys() {
    let texts = texts_of_keys().into_iter();
    let texts = texts.map(|column| ("api_keys", column, 7, "\"", "\"secret\\u0000"));
    expect_refusals(&[KEYS, &texts.collect::<Vec<_>>()].concat()).await;
}

#[tokio::test]
async fn import_refuses_unreadable_records() {
    expect_refusals(RECORDS).await;
}

#[tokio::test]
async fn import_accepts_texts_allowed_by_older_rules_only() {
    let mut rows = rows();
    let texts = [&texts_of_keys()[..], &["display_name", "invitee", "revoked_note"]].concat();
    for row in &mut rows {
        for text in &texts {
            let old = format!(r#""{text}":"\u200b\u00ad "#);
            *row = row.replacen(&format!(r#""{text}":""#), &old, 1);
        }
    }
    for database in Database::both().await {
        database.import(export_of(&rows).await).await.expect("an import");
    }
}

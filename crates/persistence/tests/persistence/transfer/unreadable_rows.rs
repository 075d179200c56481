//! What the domain could not read back from a database is not taken into one.

use crate::database::Database;
use crate::transfer::everything::{export_of, id, rows};

/// A row and what makes it unreadable: table, column, the row's number, what stands there, what takes its
/// place.
type Case = (&'static str, &'static str, u32, &'static str, &'static str);

const MEMBERS: &[Case] = &[
    ("organizations", "slug", 1, r#""acme""#, r#""Acme-secret""#),
    (
        "organizations",
        "name",
        1,
        r#""name":""#,
        r#""name":"secret\u0007"#,
    ),
    ("organizations", "created_at", 1, r#""2026-"#, r#""-0001-"#),
    (
        "users",
        "username",
        2,
        r#""username":"ada""#,
        r#""username":"a secret""#,
    ),
    ("users", "display_name", 3, r#""Bob""#, r#""""#),
    ("users", "created_at", 3, r#""1969-"#, r#""+10000-"#),
    ("memberships", "role", 4, r#""owner""#, r#""secret""#),
    (
        "memberships",
        "joined_at",
        4,
        r#""joined_at":"2026"#,
        r#""joined_at":"-2026"#,
    ),
    ("memberships", "ended_at", 6, r#""9999-"#, r#""+10000-"#),
    (
        "memberships",
        "changes_empty_at",
        4,
        r#"changes_empty_at":"2026"#,
        r#"changes_empty_at":"+12026"#,
    ),
    ("invitations", "digest", 10, "0303", ""),
    ("invitations", "invitee", 11, r#""bob""#, r#""secret\nbob""#),
    ("invitations", "role", 11, r#""owner""#, r#""secret""#),
    ("invitations", "invited_by_kind", 10, r#""user""#, r#""secret""#),
    (
        "invitations",
        "invited_by_id",
        10,
        r#""00000000-0000-7000-8000-000000000002""#,
        "null",
    ),
    (
        "invitations",
        "accepted_membership_id",
        10,
        r#""00000000-0000-7000-8000-000000000005""#,
        "null",
    ),
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
        r#""revoked_at":null"#,
        r#""revoked_at":"2026-01-02T00:00:00Z""#,
    ),
    ("invitations", "idempotency_key", 10, "fefe", ""),
    (
        "invitations",
        "created_at",
        10,
        r#""created_at":"2026"#,
        r#""created_at":"-2026"#,
    ),
    (
        "invitations",
        "expires_at",
        10,
        r#""expires_at":"2026"#,
        r#""expires_at":"-2026"#,
    ),
    (
        "invitations",
        "accepted_at",
        10,
        r#""accepted_at":"2026"#,
        r#""accepted_at":"-2026"#,
    ),
    (
        "invitations",
        "revoked_at",
        11,
        r#""revoked_at":"2026"#,
        r#""revoked_at":"-2026"#,
    ),
    ("projects", "idempotency_key", 12, "fdfd", ""),
    ("projects", "name", 12, r#""name":""#, r#""name":"\n"#),
    (
        "projects",
        "created_at",
        12,
        r#""created_at":"2026"#,
        r#""created_at":"-2026"#,
    ),
    (
        "projects",
        "archived_at",
        12,
        r#""archived_at":"2026"#,
        r#""archived_at":"-2026"#,
    ),
    ("project_members", "added_at", 4, r#""2026-"#, r#""-2026-"#),
];

const KEYS: &[Case] = &[
    ("api_keys", "digest", 7, "0000000000000000", ""),
    ("api_keys", "hint", 7, "kwp_…", "kwp_secret"),
    ("api_keys", "name", 8, r#""name":"child""#, r#""name":"""#),
    (
        "api_keys",
        "description",
        8,
        r#""description":"""#,
        r#""description":"secret\u0000""#,
    ),
    (
        "api_keys",
        "created_by_user_id",
        8,
        r#""created_by_key_id":"00000000-0000-7000-8000-000000000007""#,
        r#""created_by_key_id":null"#,
    ),
    (
        "api_keys",
        "created_by_key_id",
        7,
        r#""created_by_key_id":null"#,
        r#""created_by_key_id":"00000000-0000-7000-8000-000000000008""#,
    ),
    ("api_keys", "idempotency_key", 7, "ffff", ""),
    ("api_keys", "request_digest", 7, "fcfc", ""),
    (
        "api_keys",
        "created_at",
        7,
        r#""created_at":"2026"#,
        r#""created_at":"-2026"#,
    ),
    (
        "api_keys",
        "revoked_at",
        8,
        r#""2026-01-02T00:00:00.456Z""#,
        "null",
    ),
    ("api_keys", "revoked_at", 8, r#""2026-01-02"#, r#""-2026-01-02"#),
    (
        "api_keys",
        "revoked_by_kind",
        8,
        r#""revoked_by_kind":"user""#,
        r#""revoked_by_kind":null"#,
    ),
    (
        "api_keys",
        "revoked_by_kind",
        8,
        r#""revoked_by_kind":"user""#,
        r#""revoked_by_kind":"secret""#,
    ),
    (
        "api_keys",
        "revoked_by_id",
        8,
        r#""revoked_by_id":"00000000-0000-7000-8000-000000000002""#,
        r#""revoked_by_id":null"#,
    ),
    ("api_keys", "revoked_reason", 8, r#""holder""#, "null"),
    ("api_keys", "revoked_reason", 8, r#""holder""#, r#""Secret""#),
    (
        "api_keys",
        "revoked_note",
        8,
        r#""revoked_note":""#,
        r#""revoked_note":"secret\u0001"#,
    ),
    ("api_keys", "last_used_at", 7, r#""2026-01-01T00:00:01Z""#, "null"),
    (
        "api_keys",
        "last_used_at",
        7,
        r#""2026-01-01T00:00:01Z""#,
        r#""-2026-01-01T00:00:01Z""#,
    ),
    ("api_keys", "last_used_from", 7, "2001:db8::1", "secret"),
    (
        "api_keys",
        "tree_depth",
        8,
        r#""tree_depth":1"#,
        r#""tree_depth":-1"#,
    ),
];

const RECORDS: &[Case] = &[
    ("audit_events", "actor_kind", 1_000, r#""user""#, r#""secret""#),
    (
        "audit_events",
        "actor_id",
        1_000,
        r#""actor_id":"00000000-0000-7000-8000-000000000002""#,
        r#""actor_id":null"#,
    ),
    ("audit_events", "action", 1_000, "api_key.create", "secret"),
    (
        "audit_events",
        "subject_kind",
        1_000,
        r#""subject_kind":"api_key""#,
        r#""subject_kind":"secret-kind""#,
    ),
    (
        "audit_events",
        "subject_id",
        1_000,
        r#""00000000-0000-7000-8000-000000000007""#,
        "null",
    ),
    (
        "audit_events",
        "object_kind",
        1_001,
        r#""project""#,
        r#""secret-kind""#,
    ),
    ("audit_events", "object_kind", 1_001, r#""project""#, "null"),
    (
        "audit_events",
        "object_id",
        1_001,
        r#""00000000-0000-7000-8000-00000000000c""#,
        "null",
    ),
    ("audit_events", "outcome", 1_000, r#""success""#, r#""secret""#),
    ("audit_events", "source_address", 1_000, "2001:db8::1", "secret"),
    ("audit_events", "occurred_at", 1_000, r#""2026-"#, r#""-2026-"#),
    ("sessions", "digest", 9, "0101", ""),
    (
        "sessions",
        "started_at",
        9,
        r#""started_at":"2026"#,
        r#""started_at":"-2026"#,
    ),
    (
        "sessions",
        "last_seen_at",
        9,
        r#""last_seen_at":"2026"#,
        r#""last_seen_at":"-2026"#,
    ),
    ("sessions", "started_from", 9, "203.0.113.7", "secret"),
    ("sign_in_throttle", "bucket", 0, "0202", ""),
    ("sign_in_throttle", "empty_at", 0, r#""2026-"#, r#""-2026-"#),
    ("installation", "set_up_at", 0, r#""2026-"#, r#""-2026-"#),
    (
        "installation",
        "setup_link_digest",
        0,
        r#""setup_link_digest":null"#,
        r#""setup_link_digest":"00""#,
    ),
    (
        "installation",
        "setup_link_expires_at",
        0,
        r#"expires_at":null"#,
        r#"expires_at":"-2026-01-01T00:00:00Z""#,
    ),
    ("installation", "browser_key", 0, "0404", ""),
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
        rows[index] = whole[index].replacen(from, to, 1);
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
    expect_refusals(KEYS).await;
}

#[tokio::test]
async fn import_refuses_unreadable_records() {
    expect_refusals(RECORDS).await;
}

#[tokio::test]
async fn import_accepts_texts_allowed_by_older_rules_only() {
    let mut rows = rows();
    for row in &mut rows {
        for text in ["name", "display_name", "invitee", "description", "revoked_note"] {
            let old = format!(r#""{text}":"\u200b\u00ad "#);
            *row = row.replacen(&format!(r#""{text}":""#), &old, 1);
        }
    }
    for database in Database::both().await {
        database.import(export_of(&rows).await).await.expect("an import");
    }
}

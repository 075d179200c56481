//! An export with rows of every table, and a value in every column of one of them.

use sha2::{Digest, Sha256};

use crate::database::Database;
use crate::schema_file::texts_of_keys;

/// Identifiers sort by their number.
pub(crate) fn id(number: u32) -> String {
    format!("00000000-0000-7000-8000-{number:012x}")
}

fn bytes(count: usize, byte: u8) -> String {
    format!("{byte:02x}").repeat(count)
}

/// All kinds of text that a name may contain.
const WORDS: &str = r#"Ünï \"quoted\" \\ 名前 שלום 👩‍💻 é ’"#;

/// A text for columns that the domain does not parse.
const ANYTHING: &str = r#"ünï \"quoted\" \\ \t \u0001 \u007f’"#;

/// More than the few batches that may wait between a stream and a database.
pub(crate) const EVENTS: u32 = 2_345;

/// The rows, line by line, in the order of an export.
pub(crate) fn rows() -> Vec<String> {
    let words = serde_json::from_str::<String>(&format!("\"{WORDS}\"")).expect("a text");
    let words = serde_json::to_string(&words).expect("JSON");
    let anything = serde_json::from_str::<String>(&format!("\"{ANYTHING}\"")).expect("a text");
    let anything = serde_json::to_string(&anything).expect("JSON");
    let (organization, ada, bob) = (id(1), id(2), id(3));
    let (adas, bobs, ended) = (id(4), id(5), id(6));
    let (first, child) = (id(7), id(8));
    // What people write about a key beside its name and description, which is last in its row.
    let texts = texts_of_keys().into_iter().skip(2);
    let texts: String = texts.map(|column| format!(r#","{column}":{words}"#)).collect();
    let mut rows = vec![
        format!(
            r#"{{"organizations":{{"id":"{organization}","slug":"acme","name":{words},"new_keys_manage_keys":false,"longest_key_life_days":90,"created_at":"2026-01-01T00:00:00Z"}}}}"#
        ),
        format!(
            r#"{{"users":{{"id":"{ada}","username":"ada","display_name":{words},"search_text":{anything},"password_hash":"$argon2id$v=19$m=1,t=1,p=1$c2FsdA$aGFzaA","created_at":"2026-01-01T00:00:00.001Z"}}}}"#
        ),
        format!(
            r#"{{"users":{{"id":"{bob}","username":"bob","display_name":"Bob","search_text":"bob","password_hash":"$","created_at":"1969-12-31T23:59:59.999Z"}}}}"#
        ),
        format!(
            r#"{{"memberships":{{"id":"{adas}","organization_id":"{organization}","user_id":"{ada}","role":"owner","joined_at":"2026-01-01T00:00:00.120Z","ended_at":null,"end_came_at":null,"keys_removed_at":null,"changes_empty_at":"2026-01-01T00:02:00.123Z"}}}}"#
        ),
        format!(
            r#"{{"memberships":{{"id":"{bobs}","organization_id":"{organization}","user_id":"{bob}","role":"member","joined_at":"2026-01-01T00:00:00.100Z","ended_at":"2026-06-01T00:00:00Z","end_came_at":null,"keys_removed_at":null,"changes_empty_at":null}}}}"#
        ),
        format!(
            r#"{{"memberships":{{"id":"{ended}","organization_id":"{organization}","user_id":"{bob}","role":"member","joined_at":"2026-01-01T00:00:00Z","ended_at":"9999-12-31T23:59:59.999Z","end_came_at":"2026-01-01T00:00:00.400Z","keys_removed_at":"2026-01-01T00:00:00.456Z","changes_empty_at":null}}}}"#
        ),
        format!(
            r#"{{"invitations":{{"id":"{}","organization_id":"{organization}","digest":"{}","invitee":{words},"role":"member","invited_by_kind":"user","invited_by_id":"{ada}","idempotency_key":"{}","created_at":"2026-01-01T00:00:00Z","expires_at":"2026-01-08T00:00:00Z","accepted_at":"2026-01-02T00:00:00Z","accepted_membership_id":"{bobs}","revoked_at":null}}}}"#,
            id(10),
            bytes(32, 0x03),
            bytes(16, 0xfe),
        ),
        format!(
            r#"{{"invitations":{{"id":"{}","organization_id":"{organization}","digest":"{}","invitee":"bob","role":"owner","invited_by_kind":"administrator","invited_by_id":null,"idempotency_key":null,"created_at":"2026-01-01T00:00:00Z","expires_at":"2026-01-08T00:00:00Z","accepted_at":null,"accepted_membership_id":null,"revoked_at":"2026-01-02T00:00:00Z"}}}}"#,
            id(11),
            bytes(32, 0x04),
        ),
        format!(
            r#"{{"projects":{{"id":"{}","organization_id":"{organization}","name":{words},"search_text":{anything},"idempotency_key":"{}","created_at":"2026-01-01T00:00:00Z","archived_at":"2026-01-02T00:00:00Z"}}}}"#,
            id(12),
            bytes(16, 0xfd),
        ),
        format!(
            r#"{{"project_members":{{"membership_id":"{adas}","project_id":"{}","added_at":"2026-01-01T00:00:00Z"}}}}"#,
            id(12),
        ),
        format!(
            r#"{{"api_keys":{{"id":"{first}","consumer_id":"{adas}","digest":"{}","hint":"kwp_…yrI0","name":{words},"description":{words},"search_text":{anything},"can_manage_keys":true,"created_by_user_id":"{ada}","created_by_key_id":null,"adoptive_parent_key_id":null,"tree_depth":0,"skip_key_id":null,"rotated_from_key_id":null,"rotated_to_key_id":null,"idempotency_key":"{}","request_digest":"{}","created_at":"2026-01-01T00:00:00Z","tree_began_at":"2026-01-01T00:00:00Z","last_used_at":"2026-01-01T00:00:01Z","last_used_from":"2001:db8::1","revoked_at":null,"end_came_at":null,"revoked_by_kind":null,"revoked_by_id":null,"revoked_reason":null,"revoked_note":null{texts}}}}}"#,
            bytes(32, 0x00),
            bytes(16, 0xff),
            bytes(16, 0xfc),
        ),
        format!(
            r#"{{"api_keys":{{"id":"{child}","consumer_id":"{adas}","digest":"{}","hint":"kwp_…yrI0","name":"child","description":"","search_text":"child","can_manage_keys":false,"created_by_user_id":null,"created_by_key_id":"{first}","adoptive_parent_key_id":"{first}","tree_depth":1,"skip_key_id":"{first}","rotated_from_key_id":"{first}","rotated_to_key_id":"{child}","idempotency_key":null,"request_digest":null,"created_at":"2026-01-01T00:00:00Z","tree_began_at":"2026-01-01T00:00:00Z","last_used_at":null,"last_used_from":null,"revoked_at":"2026-01-02T00:00:00.456Z","end_came_at":"2026-01-02T00:00:00.450Z","revoked_by_kind":"user","revoked_by_id":"{ada}","revoked_reason":"holder","revoked_note":{words}{texts}}}}}"#,
            bytes(32, 0x80),
        ),
    ];
    rows.extend((0..EVENTS).map(event));
    rows.extend([
        format!(
            r#"{{"sessions":{{"id":"{}","user_id":"{ada}","digest":"{}","started_at":"2026-01-01T00:00:00Z","started_from":"203.0.113.7","user_agent":{anything},"last_seen_at":"2026-01-01T00:00:00.789Z"}}}}"#,
            id(9),
            bytes(32, 0x01),
        ),
        format!(
            r#"{{"sign_in_throttle":{{"bucket":"{}","empty_at":"2026-01-01T00:00:00Z"}}}}"#,
            bytes(32, 0x02)
        ),
        installation(r#""2026-01-01T00:00:00Z","setup_link_digest":null,"setup_link_expires_at":null"#),
    ]);
    rows
}

fn event(number: u32) -> String {
    let organization = match number % 2 {
        0 => format!("\"{}\"", id(1)),
        _ => "null".to_owned(),
    };
    let (actor, subject) = match number % 3 {
        0 => (
            format!(r#""user","actor_id":"{}""#, id(2)),
            format!(r#""api_key","subject_id":"{}""#, id(7)),
        ),
        _ => (
            r#""administrator","actor_id":null"#.to_owned(),
            r#""installation","subject_id":null"#.to_owned(),
        ),
    };
    let (object, old_value, source) = match number % 5 {
        0 => (
            r#"null,"object_id":null"#,
            r#""P90D""#,
            r#""2001:db8::1","request_id":"0190""#,
        ),
        _ => (
            r#""project","object_id":"00000000-0000-7000-8000-00000000000c""#,
            "null",
            r#"null,"request_id":null"#,
        ),
    };
    format!(
        r#"{{"audit_events":{{"id":"{}","occurred_at":"2026-01-01T00:00:00Z","organization_id":{organization},"actor_kind":{actor},"action":"api_key.create","subject_kind":{subject},"object_kind":{object},"old_value":{old_value},"new_value":{old_value},"outcome":"success","source_address":{source}}}}}"#,
        id(1_000 + number)
    )
}

/// The row of an installation, from `set_up_at` on.
pub(crate) fn installation(values: &str) -> String {
    format!(
        r#"{{"installation":{{"only_row":true,"set_up_at":{values},"browser_key":"{}"}}}}"#,
        bytes(32, 0x04)
    )
}

/// An export of these rows, whole, as this version makes it.
pub(crate) async fn export_of(rows: &[String]) -> String {
    let empty = Database::sqlite().await.export().await;
    let (first_line, _) = empty.split_once('\n').expect("a first line");
    let mut export = format!("{first_line}\n");
    for row in rows {
        export.push_str(row);
        export.push('\n');
    }
    finished(export)
}

/// With the last line that fits these lines.
pub(crate) fn finished(mut export: String) -> String {
    let digest = hex::encode(Sha256::digest(&export));
    let count = |table: &str| export.matches(&format!("\n{{\"{table}\":")).count();
    let counts = [
        "organizations",
        "users",
        "memberships",
        "invitations",
        "projects",
        "project_members",
        "api_keys",
        "audit_events",
        "sessions",
        "sign_in_throttle",
        "installation",
    ]
    .map(|table| format!("\"{table}\":{}", count(table)))
    .join(",");
    export.push_str(&format!(
        "{{\"end\":{{\"rows\":{{{counts}}},\"sha256\":\"{digest}\"}}}}\n"
    ));
    export
}

/// The whole of it.
pub(crate) async fn everything() -> String {
    export_of(&rows()).await
}

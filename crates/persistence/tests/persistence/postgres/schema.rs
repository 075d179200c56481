//! What the database itself refuses, and how it finds things.

use crate::postgres::fixture::{Fixture, count};

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
async fn audit_events_can_only_be_added() {
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

#[tokio::test]
async fn a_digest_is_32_bytes_and_unique() {
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
async fn rows_that_contradict_themselves_are_refused() {
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
        ("UPDATE api_keys SET creation_nonce = '\\x00'", "api_keys_creation_nonce_check"),
        (
            "INSERT INTO invitations (id, organization_id, digest, invitee, role, invited_by_kind, created_at, expires_at,
                                      creation_nonce)
             SELECT gen_random_uuid(), id, sha256('x'), 'x', 'member', 'administrator', now(), now(), '\\x00'
             FROM organizations",
            "invitations_creation_nonce_check",
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

#[tokio::test]
async fn every_frequent_question_is_answered_by_an_index() {
    let fixture = Fixture::new().await;
    // With so few rows the planner would rather read all of them.
    fixture
        .execute("SET enable_seqscan = off; SET enable_sort = off")
        .await;
    let id = "'00000000-0000-7000-8000-000000000000'";
    let events = |which: &str| {
        format!(
            "SELECT * FROM audit_events WHERE {which} AND occurred_at <= '2026-01-01' \
             ORDER BY occurred_at DESC, id DESC LIMIT 51"
        )
    };
    for (question, index) in [
        (
            "SELECT * FROM api_keys WHERE digest = sha256('x')".to_owned(),
            "api_keys_digest_key",
        ),
        (
            format!(
                "SELECT * FROM api_keys WHERE consumer_id = {id} AND id < {id} ORDER BY id DESC LIMIT 51"
            ),
            "api_keys_consumer_id_id_idx",
        ),
        (
            format!(
                "SELECT * FROM api_keys WHERE consumer_id = {id} AND revoked_at IS NULL ORDER BY id DESC LIMIT 51"
            ),
            "api_keys_valid_idx",
        ),
        (
            format!("SELECT id FROM api_keys WHERE coalesce(adopted_by_key_id, created_by_key_id) = {id}"),
            "api_keys_next_above_idx",
        ),
        (
            "SELECT id FROM api_keys WHERE revoked_at < '2026-01-01' ORDER BY revoked_at, id DESC LIMIT 500"
                .to_owned(),
            "api_keys_revoked_at_idx",
        ),
        (
            "SELECT * FROM memberships WHERE ended_at < '2026-01-01' AND keys_removed_at IS NULL
             ORDER BY ended_at, id LIMIT 500"
                .to_owned(),
            "memberships_ended_at_idx",
        ),
        (
            "SELECT id FROM invitations WHERE coalesce(accepted_at, revoked_at, expires_at) < '2026-01-01'
             ORDER BY coalesce(accepted_at, revoked_at, expires_at) LIMIT 500"
                .to_owned(),
            "invitations_over_since_idx",
        ),
        (
            "SELECT bucket FROM sign_in_throttle WHERE empty_at < '2026-01-01' ORDER BY empty_at LIMIT 500"
                .to_owned(),
            "sign_in_throttle_empty_at_idx",
        ),
        (
            format!(
                "SELECT id FROM audit_events WHERE id < {id} AND occurred_at < '2026-01-01' ORDER BY id LIMIT 500"
            ),
            "audit_events_pkey",
        ),
        (
            format!("SELECT id FROM api_keys WHERE consumer_id = {id} AND creation_nonce = '\\x00'"),
            "api_keys_creation_nonce_key",
        ),
        (
            events(&format!("organization_id = {id}")),
            "audit_events_organization_idx",
        ),
        (
            events(&format!("organization_id = {id} AND actor_id = {id}")),
            "audit_events_actor_idx",
        ),
        (
            events(&format!(
                "organization_id = {id} AND actor_kind = 'administrator' AND actor_id IS NULL"
            )),
            "audit_events_nameless_actor_idx",
        ),
        (
            events(&format!("organization_id = {id} AND action = 'user.create'")),
            "audit_events_action_idx",
        ),
        (
            events(&format!("organization_id = {id} AND subject_id = {id}")),
            "audit_events_subject_idx",
        ),
        (
            events(&format!("organization_id = {id} AND object_id = {id}")),
            "audit_events_object_idx",
        ),
        (events("organization_id IS NULL"), "audit_events_installation_idx"),
        (
            events(&format!(
                "organization_id IS NULL AND subject_kind = 'user' AND subject_id = {id}"
            )),
            "audit_events_installation_subject_idx",
        ),
        (
            events(&format!(
                "organization_id IS NULL AND object_kind = 'user' AND object_id = {id}"
            )),
            "audit_events_installation_object_idx",
        ),
        (
            "SELECT * FROM sessions WHERE digest = sha256('x')".to_owned(),
            "sessions_digest_key",
        ),
        (
            format!("DELETE FROM sessions WHERE user_id = {id}"),
            "sessions_user_id_idx",
        ),
        (
            format!(
                "SELECT * FROM memberships WHERE organization_id = {id} AND ended_at IS NULL AND id < {id}
                 ORDER BY id DESC LIMIT 51"
            ),
            "memberships_organization_id_id_idx",
        ),
        (
            "SELECT * FROM invitations WHERE digest = sha256('x')".to_owned(),
            "invitations_digest_key",
        ),
        (
            format!(
                "SELECT * FROM invitations WHERE organization_id = {id} AND accepted_at IS NULL
                 AND revoked_at IS NULL ORDER BY id DESC LIMIT 51"
            ),
            "invitations_pending_idx",
        ),
        (
            format!("SELECT id FROM invitations WHERE organization_id = {id} AND creation_nonce = '\\x00'"),
            "invitations_creation_nonce_key",
        ),
        (
            format!("SELECT * FROM projects WHERE organization_id = {id} ORDER BY id DESC LIMIT 51"),
            "projects_organization_id_id_idx",
        ),
        (
            format!(
                "SELECT project_id FROM project_members WHERE membership_id = {id} ORDER BY project_id DESC LIMIT 51"
            ),
            "project_members_pkey",
        ),
        (
            format!(
                "SELECT membership_id FROM project_members WHERE project_id = {id}
                 ORDER BY membership_id DESC LIMIT 51"
            ),
            "project_members_project_id_idx",
        ),
    ] {
        let plan = fixture
            .client
            .query(&format!("EXPLAIN (COSTS OFF) {question}"), &[])
            .await
            .expect("a plan");
        let plan: Vec<String> = plan.iter().map(|row| row.get(0)).collect();
        let plan = plan.join("\n");
        assert!(plan.contains(index), "{question}\n{plan}");
        assert!(!plan.contains("Sort"), "{question}\n{plan}");
    }
}

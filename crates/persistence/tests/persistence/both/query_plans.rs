//! The query plans of frequent requests: each port method is called, and all its queries must use an index.

mod ends;
mod people;

use std::io;

use chrono::{DateTime, TimeDelta};
use futures_util::future::join_all;
use keyward_domain::administration::ports::{Names, OrganizationKeyStore};
use keyward_domain::audit::{Action, Actor, Subject};
use keyward_domain::clock::Clock;
use keyward_domain::id::ApiKeyId;
use keyward_domain::keys::IdempotencyKey;
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::{
    ApiKeys, AuditFeed, AuditFilter, AuditLog, AuditPosition, Credentials, KeyFilter, KeyLimits, NewApiKey,
    StatusFilter,
};
use keyward_domain::retention::SurplusKeys;
use keyward_persistence::transfer::export;
use uuid::Uuid;

use crate::asked::{Asked, Plan};
use crate::both::scene::Scene;
use crate::database::{Database, Store, now};

on_both!(
    key_queries_use_an_index,
    leaked_keys_are_found_by_an_index,
    audit_log_queries_use_an_index,
    retention_queries_use_an_index,
    an_export_sorts_nothing,
);

/// A scene whose store is listened to.
struct Listening {
    scene: Scene,
    asked: Asked,
}

impl Listening {
    async fn to(database: Database) -> Self {
        let scene = Scene::new(database).await;
        add_many(&scene).await;
        let asked = Asked::of(&scene.database).await;
        Self { scene, asked }
    }

    fn store(&self) -> &dyn Store {
        &*self.asked.store
    }

    /// Asserts that the last queries used these indexes, and neither scanned nor sorted rows.
    async fn expect(&self, question: &str, of_postgres: &[&str], of_sqlite: &[&str]) {
        let plans = self.asked.plans(&self.scene.database).await;
        let steps: String = plans.iter().map(described).collect();
        let is_postgres = self.scene.database.is_postgres();
        for index in if is_postgres { of_postgres } else { of_sqlite } {
            assert!(steps.contains(index), "{question}: {index}\n{steps}");
        }
        for step in steps.lines() {
            assert!(!goes_through(step), "{question}: {step}\n{steps}");
        }
    }
}

/// Adds enough rows for PostgreSQL to choose between indexes, and analyzes them, since autovacuum does so at
/// a time of its own.
async fn add_many(scene: &Scene) {
    const MANY: usize = 2_000;
    let database = &scene.database;
    let (id, digest, many) = (database.new_id(), database.new_digest(), database.series(MANY));
    let (ada, few) = (
        database.id(scene.ada.membership.id.as_uuid()),
        database.series(MANY / 10),
    );
    database
        .execute(&format!(
            "INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text, created_by_user_id, created_at,
                 revoked_at, end_came_at, revoked_by_kind, revoked_reason)
             SELECT {id}, consumer_id, {digest}, hint, name, description, search_text, created_by_user_id, created_at,
                 created_at, created_at, 'administrator', 'leak'
             FROM api_keys, {many} WHERE created_by_user_id IS NOT NULL;
             INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text, created_by_user_id, created_at)
             SELECT {id}, {ada}, {digest}, hint, name, description, search_text, created_by_user_id, created_at
             FROM (SELECT * FROM api_keys WHERE created_by_user_id IS NOT NULL LIMIT 1) AS a_key, {many};
             INSERT INTO sessions (id, user_id, digest, started_at, last_seen_at)
             SELECT {id}, users.id, {digest}, one.started_at, one.last_seen_at
             FROM users, (SELECT * FROM sessions LIMIT 1) AS one, {few};
             INSERT INTO projects (id, organization_id, name, search_text, created_at)
             SELECT {id}, organization_id, name, search_text, created_at
             FROM (SELECT * FROM projects LIMIT 1) AS a_project, {few};
             INSERT INTO project_members (membership_id, project_id, added_at)
             SELECT memberships.id, projects.id, projects.created_at FROM memberships, projects
             WHERE memberships.organization_id = projects.organization_id
             ON CONFLICT DO NOTHING;
             INSERT INTO invitations (id, organization_id, digest, invitee, role, invited_by_kind, invited_by_id, created_at,
                 expires_at, revoked_at)
             SELECT {id}, organization_id, {digest}, invitee, role, invited_by_kind, invited_by_id, created_at, expires_at,
                 created_at
             FROM invitations, {many};
             INSERT INTO audit_events (id, occurred_at, organization_id, actor_kind, actor_id, action, subject_kind, subject_id,
                 outcome)
             SELECT {id}, occurred_at, organization_id, 'user', {id}, action, 'user', {id}, outcome
             FROM (SELECT * FROM audit_events LIMIT 2) AS some_events, {many}"
        ))
        .await;
    database.settle().await;
}

fn described(plan: &Plan) -> String {
    let statement = plan.statement.replace('\n', " ");
    format!("-- {statement}\n{}\n", plan.steps)
}

/// Whether a step reads a whole table, or sorts rows.
fn goes_through(step: &str) -> bool {
    const SMALL: [&str; 5] = [
        "installation",
        "organizations",
        "audit_feed",
        "retention_clock",
        "json_each",
    ];
    if step.starts_with("-- ") {
        return false;
    }
    let table = ["Seq Scan on ", "SCAN "]
        .iter()
        .find_map(|scan| step.split_once(scan));
    let of_small = |rest: &str| SMALL.iter().any(|small| rest.starts_with(small));
    let by_index = |rest: &str| rest.contains(" VIRTUAL TABLE ") || rest == "CONSTANT ROW";
    let sorts_all = step.trim_start().trim_start_matches("->").trim_start() == "Sort";
    table.is_some_and(|(_, rest)| !of_small(rest) && !by_index(rest))
        || sorts_all
        || step.contains("TEMP B-TREE")
}

fn page<Id>(after: Option<Id>) -> PageRequest<Id> {
    PageRequest {
        size: PageSize::DEFAULT,
        after,
    }
}

async fn key_queries_use_an_index(database: Database) {
    let listening = Listening::to(database).await;
    let (scene, store) = (&listening.scene, listening.store());
    let consumer = scene.bob.membership.id;

    Credentials::find(store, &scene.key_digest)
        .await
        .expect("an answer");
    let digest = ("api_keys_digest_key", "sqlite_autoindex_api_keys_2");
    listening.expect("verification", &[digest.0], &[digest.1]).await;
    let at_once = join_all((0..20).map(|_| Credentials::find(store, &scene.key_digest)));
    assert!(at_once.await.iter().all(Result::is_ok));
    let question = "verifications at the same time";
    listening.expect(question, &[digest.0], &[digest.1]).await;

    let last = Some(ApiKeyId::from_uuid(Uuid::max()));
    for (status, index) in [
        (StatusFilter::All, "api_keys_consumer_id_id_idx"),
        (StatusFilter::Valid, "api_keys_valid_idx"),
    ] {
        let filter = KeyFilter::new(status, None);
        ApiKeys::list(store, consumer, filter, page(last), now())
            .await
            .expect("a page");
        listening.expect("own keys", &[index], &[index]).await;
    }

    let (new, _) = scene.make.new_key(&scene.bob.as_holder(), "twice");
    let idempotency_key = Some(IdempotencyKey::generate(&*scene.make.random));
    let act = scene.make.act_of(&scene.bob.as_holder());
    let added = ApiKeys::add(
        store,
        NewApiKey {
            idempotency_key,
            ..new
        },
        KeyLimits::default(),
        act,
    )
    .await;
    added.expect("a key");
    let form = "api_keys_idempotency_key_key";
    let of_postgres = [form, "Index Only Scan using api_keys_valid_idx"];
    let of_sqlite = [form, "COVERING INDEX api_keys_used_idx"];
    listening.expect("a new key", &of_postgres, &of_sqlite).await;
}

async fn leaked_keys_are_found_by_an_index(database: Database) {
    let listening = Listening::to(database).await;
    let (scene, store) = (&listening.scene, listening.store());
    let (since, size) = (DateTime::UNIX_EPOCH, PageSize::DEFAULT);
    let index = "api_keys_leaked_idx";

    let own = ApiKeys::leaked_since(store, scene.bob.membership.id, since, size).await;
    assert_eq!(own.expect("an answer").len(), size.items() + 1);
    listening.expect("own leaked keys", &[index], &[index]).await;

    let organization = scene.ada.organization.id;
    let all = OrganizationKeyStore::leaked_since(store, organization, since, size).await;
    assert_eq!(all.expect("an answer").len(), size.items() + 1);
    let plans = listening.asked.plans(&scene.database).await;
    let steps = plans.iter().map(described).find(|steps| steps.contains(index));
    let steps = steps.expect("a statement by the index");
    // The first keys of each consumer are sorted, and nothing else is gone through.
    let other = [
        "Seq Scan on",
        "SCAN api_keys",
        "_id_idx",
        "_ended_idx",
        "_revoked_idx",
    ];
    assert!(!other.iter().any(|step| steps.contains(step)), "{steps}");
}

async fn audit_log_queries_use_an_index(database: Database) {
    let listening = Listening::to(database).await;
    let (scene, store) = (&listening.scene, listening.store());
    let organization = Some(scene.ada.organization.id);
    let ada = Subject::User(scene.ada.user.id);
    let by = |actor| AuditFilter {
        actor: Some(actor),
        ..AuditFilter::default()
    };
    let of = |action| AuditFilter {
        action: Some(action),
        ..AuditFilter::default()
    };
    let about = |subject| AuditFilter {
        subject: Some(subject),
        ..AuditFilter::default()
    };
    let after = Some(AuditPosition {
        at: scene.make.clock.now(),
        id: scene
            .make
            .act(Actor::Administrator)
            .event(Action::CreateUser, Subject::Installation)
            .id,
    });
    for (organization, filter, indexes) in [
        (
            organization,
            AuditFilter::default(),
            &["audit_events_organization_idx"][..],
        ),
        (
            organization,
            by(Actor::User(scene.ada.user.id)),
            &["audit_events_actor_idx"],
        ),
        (
            organization,
            by(Actor::Administrator),
            &["audit_events_nameless_actor_idx"],
        ),
        (organization, of(Action::CreateUser), &["audit_events_action_idx"]),
        (
            organization,
            about(ada),
            &["audit_events_subject_idx", "audit_events_object_idx"],
        ),
        (None, AuditFilter::default(), &["audit_events_installation_idx"]),
        (
            None,
            about(ada),
            &[
                "audit_events_installation_subject_idx",
                "audit_events_installation_object_idx",
            ],
        ),
        (
            organization,
            AuditFilter {
                action: Some(Action::CreateUser),
                subject: Some(ada),
                ..by(Actor::User(scene.ada.user.id))
            },
            &["audit_events_subject_idx", "audit_events_object_idx"],
        ),
        (
            organization,
            AuditFilter {
                action: Some(Action::CreateUser),
                ..by(Actor::User(scene.ada.user.id))
            },
            &["audit_events_actor_idx"],
        ),
    ] {
        AuditLog::list(store, organization, filter, page(after))
            .await
            .expect("a page");
        listening.expect("the log", indexes, indexes).await;
    }

    let organization = scene.ada.organization.id;
    Names::find_subject(store, organization, Uuid::from_u128(7))
        .await
        .expect("an answer");
    let indexes = [
        "audit_events_subject_idx",
        "audit_events_object_idx",
        "audit_events_actor_idx",
    ];
    listening.expect("an identifier", &indexes, &indexes).await;

    let last = AuditFeed::last_position(store).await.expect("an answer");
    AuditFeed::events_after(store, last, PageSize::DEFAULT)
        .await
        .expect("a page");
    listening
        .expect(
            "the order of commits",
            &["audit_events_position_key"],
            &["audit_positions USING"],
        )
        .await;
}

async fn retention_queries_use_an_index(database: Database) {
    const ALL: u32 = 500;
    let listening = Listening::to(database).await;
    let (scene, store) = (&listening.scene, listening.store());
    // Keys with parents, because queries look for children only of such keys.
    let parent = scene.database.id(scene.key.as_uuid());
    let below = format!("UPDATE api_keys SET adoptive_parent_key_id = {parent} WHERE revoked_at IS NOT NULL");
    scene.database.execute(&below).await;
    scene.revoke_all(scene.child).await;
    let later = scene.make.clock.now() + TimeDelta::days(1);

    let surplus = SurplusKeys {
        consumer: scene.bob.membership.id,
        kept: 1,
        before: later,
    };
    let found = store.next_with_surplus_keys(None, surplus.kept).await;
    assert!(found.expect("an answer").is_some());
    let index = "api_keys_ended_idx";
    listening
        .expect("members with surplus keys", &[index], &[index])
        .await;
    assert_eq!(
        store.remove_surplus_keys(surplus, ALL).await.expect("a removal"),
        ALL
    );
    let indexes = [index, "api_keys_effective_parent_idx"];
    listening.expect("surplus keys", &indexes, &indexes).await;
    while store.remove_dead_keys(later, ALL).await.expect("a removal") > 0 {}
    let indexes = [
        "api_keys_revoked_at_idx",
        "api_keys_effective_parent_idx",
        "memberships_ended_at_idx",
    ];
    listening.expect("dead keys", &indexes, &indexes).await;
    store
        .remove_ended_invitations(later, ALL)
        .await
        .expect("a removal");
    listening
        .expect(
            "invitations",
            &["invitations_over_since_idx"],
            &["invitations_over_since_idx"],
        )
        .await;
    store
        .forget_idempotency_keys(later, ALL)
        .await
        .expect("a removal");
    let index = "api_keys_requested_idx";
    listening.expect("idempotency keys", &[index], &[index]).await;
    store
        .remove_empty_throttle_buckets(later, ALL)
        .await
        .expect("a removal");
    let index = "sign_in_throttle_empty_at_idx";
    listening.expect("attempts", &[index], &[index]).await;
    store
        .remove_audit_events(later, ALL, None)
        .await
        .expect("a removal");
    listening
        .expect(
            "old events",
            &["audit_events_pkey"],
            &["audit_events USING PRIMARY KEY"],
        )
        .await;
}

async fn an_export_sorts_nothing(database: Database) {
    let listening = Listening::to(database).await;
    let exported = export(listening.store(), io::sink()).await.expect("an export");
    assert!(exported.audit_events > 0);
    let plans = listening.asked.plans(&listening.scene.database).await;
    assert!(plans.len() >= 11, "{}", plans.len());
    for plan in plans {
        let sorts = plan.steps.contains("Sort") || plan.steps.contains("TEMP B-TREE");
        assert!(!sorts, "{}", described(&plan));
    }
}

//! The domain's conformance suite.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::api_key::{ApiKey, Revocation};
use keyward_domain::id::{MembershipId, ReplicaId};
use keyward_domain::membership::Membership;
use keyward_domain::organization::Organization;
use keyward_domain::testing::conformance::{Arrange, KeyStores, Stores};
use keyward_domain::user::User;
use keyward_domain::validity::End;
use keyward_test_database::TestDatabase;
use keyward_verification_cache::testing::PolledStore;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::postgres::fixture::{connect, long_timeouts, migrated_database, store};

keyward_domain::conformance_tests!(
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    fresh_store
);

async fn fresh_store() -> Stores {
    let database = migrated_database().await;
    let store = Arc::new(store(long_timeouts(database.url())));
    let arrange = Arc::new(BySql {
        client: connect(database.url()).await,
        _database: database,
    });
    // Behind the cache, as the server is.
    let id = ReplicaId::from_uuid(Uuid::from_u128(1));
    let cached = Arc::new(PolledStore::new(Arc::clone(&store), id));
    let stores = Stores::of(store, arrange, |task| {
        let running = tokio::spawn(task);
        Box::pin(async { running.await.expect("the task does not panic") })
    });
    Stores {
        keys: KeyStores {
            credentials: Arc::clone(&cached) as _,
            ..stores.keys
        },
        reachable_projects: cached,
        ..stores
    }
}

/// Creates states that no port can yet, and keeps the database as long as the test.
struct BySql {
    client: Client,
    _database: TestDatabase,
}

impl BySql {
    async fn execute(&self, statement: String) {
        self.client.batch_execute(&statement).await.expect(&statement);
    }

    /// Changes what keys may do, as the store does it: with a number.
    async fn end(&self, statement: String) {
        self.execute(format!("BEGIN; {statement}; {NUMBERED}; COMMIT"))
            .await;
    }
}

const NUMBERED: &str = "UPDATE access_counter SET number = number + 1;
    INSERT INTO access_changes (number, concerns_kind) SELECT number, 'everyone' FROM access_counter";

#[async_trait]
impl Arrange for BySql {
    async fn add_organization(&self, organization: Organization) {
        let Organization {
            id,
            slug,
            name,
            created_at,
            new_keys_manage_keys,
            longest_key_life,
        } = organization;
        let days = longest_key_life.map_or_else(|| "NULL".to_owned(), |life| life.days().to_string());
        let name = name.as_str().replace('\'', "''");
        self.execute(format!(
            "INSERT INTO organizations (id, slug, name, created_at, new_keys_manage_keys,
                 longest_key_life_days)
             VALUES ('{id}', '{slug}', '{name}', '{created_at}', {new_keys_manage_keys}, {days})"
        ))
        .await;
    }

    async fn add_user(&self, user: User) {
        let search_text = user.search_text().replace('\'', "''");
        let User {
            id,
            username,
            display_name,
            created_at,
        } = user;
        let display_name = display_name.as_str().replace('\'', "''");
        self.execute(format!(
            "INSERT INTO users (id, username, display_name, search_text, password_hash, created_at)
             VALUES ('{id}', '{username}', '{display_name}', '{search_text}', 'no password', '{created_at}')"
        ))
        .await;
    }

    async fn add_membership(&self, membership: Membership) {
        let Membership {
            id,
            organization_id,
            user_id,
            role,
            joined_at,
            end,
        } = membership;
        let role = role.as_str();
        let moment = |at: Option<DateTime<Utc>>| at.map_or("NULL".to_owned(), |at| format!("'{at}'"));
        let (ended_at, came_at) = (moment(end.map(End::at)), moment(end.and_then(come)));
        self.execute(format!(
            "INSERT INTO memberships (id, organization_id, user_id, role, joined_at, ended_at, end_came_at)
             VALUES ('{id}', '{organization_id}', '{user_id}', '{role}', '{joined_at}', {ended_at}, {came_at})"
        ))
        .await;
    }

    async fn end_membership(&self, membership: MembershipId, at: DateTime<Utc>) {
        self.end(format!(
            "UPDATE memberships SET ended_at = '{at}', end_came_at = '{at}' WHERE id = '{membership}' AND end_came_at IS NULL"
        ))
        .await;
    }

    async fn plan_end_of_membership(&self, membership: MembershipId, at: DateTime<Utc>) {
        self.end(format!(
            "UPDATE memberships SET ended_at = '{at}' WHERE id = '{membership}'"
        ))
        .await;
    }

    async fn plan_revocation(&self, key: &ApiKey, revocation: Revocation) {
        let (id, at) = (key.id, revocation.end.at());
        let reason = revocation.reason.as_str();
        self.end(format!(
            "UPDATE api_keys SET revoked_at = '{at}', revoked_by_kind = 'administrator',
                 revoked_by_id = NULL, revoked_reason = '{reason}'
             WHERE id = '{id}'"
        ))
        .await;
    }
}

/// When an end came, if it is none that was planned.
const fn come(end: End) -> Option<DateTime<Utc>> {
    match end {
        End::Come(at) => Some(at),
        End::Planned(_) => None,
    }
}

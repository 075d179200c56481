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
use keyward_verification_cache::testing::PolledStore;
use uuid::Uuid;

use crate::sqlite::fixture::{DataDirectory, blob, migrated_store};

keyward_domain::conformance_tests!(
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    fresh_store
);

async fn fresh_store() -> Stores {
    let directory = DataDirectory::new();
    let store = Arc::new(migrated_store(directory.long_timeouts()).await);
    // Behind the cache, as the server is.
    let id = ReplicaId::from_uuid(Uuid::from_u128(1));
    let cached = Arc::new(PolledStore::new(Arc::clone(&store), id));
    let stores = Stores::of(store, Arc::new(BySql(directory)), |task| {
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

/// Creates states that no port can yet, and keeps the directory as long as the test.
struct BySql(DataDirectory);

impl BySql {
    /// Changes what keys may do, as the store does it: with a number.
    fn end(&self, statement: &str) {
        self.0
            .execute(&format!("BEGIN IMMEDIATE; {statement}; {NUMBERED}; COMMIT"));
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
        let (id, created_at) = (blob(id.as_uuid()), created_at.timestamp_millis());
        let name = name.as_str().replace('\'', "''");
        self.0.execute(&format!(
            "INSERT INTO organizations (id, slug, name, created_at, new_keys_manage_keys,
                 longest_key_life_days)
             VALUES ({id}, '{slug}', '{name}', {created_at}, {new_keys_manage_keys}, {days})"
        ));
    }

    async fn add_user(&self, user: User) {
        let search_text = user.search_text().replace('\'', "''");
        let User {
            id,
            username,
            display_name,
            created_at,
        } = user;
        let (id, created_at) = (blob(id.as_uuid()), created_at.timestamp_millis());
        let display_name = display_name.as_str().replace('\'', "''");
        self.0.execute(&format!(
            "INSERT INTO users (id, username, display_name, search_text, password_hash, created_at)
             VALUES ({id}, '{username}', '{display_name}', '{search_text}', 'no password', {created_at})"
        ));
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
        let [id, organization_id, user_id] =
            [id.as_uuid(), organization_id.as_uuid(), user_id.as_uuid()].map(blob);
        let (role, joined_at) = (role.as_str(), joined_at.timestamp_millis());
        let moment =
            |at: Option<DateTime<Utc>>| at.map_or("NULL".to_owned(), |at| at.timestamp_millis().to_string());
        let (ended_at, came_at) = (moment(end.map(End::at)), moment(end.and_then(come)));
        self.0.execute(&format!(
            "INSERT INTO memberships (id, organization_id, user_id, role, joined_at, ended_at, end_came_at)
             VALUES ({id}, {organization_id}, {user_id}, '{role}', {joined_at}, {ended_at}, {came_at})"
        ));
    }

    async fn end_membership(&self, membership: MembershipId, at: DateTime<Utc>) {
        let (id, at) = (blob(membership.as_uuid()), at.timestamp_millis());
        self.end(&format!(
            "UPDATE memberships SET ended_at = {at}, end_came_at = {at} WHERE id = {id} AND end_came_at IS NULL"
        ));
    }

    async fn plan_end_of_membership(&self, membership: MembershipId, at: DateTime<Utc>) {
        let (id, at) = (blob(membership.as_uuid()), at.timestamp_millis());
        self.end(&format!("UPDATE memberships SET ended_at = {at} WHERE id = {id}"));
    }

    async fn plan_revocation(&self, key: &ApiKey, revocation: Revocation) {
        let (id, at) = (blob(key.id.as_uuid()), revocation.end.at().timestamp_millis());
        let reason = revocation.reason.as_str();
        self.end(&format!(
            "UPDATE api_keys SET revoked_at = {at}, revoked_by_kind = 'administrator',
                 revoked_by_id = NULL, revoked_reason = '{reason}'
             WHERE id = {id}"
        ));
    }
}

/// When an end came, if it is none that was planned.
const fn come(end: End) -> Option<DateTime<Utc>> {
    match end {
        End::Come(at) => Some(at),
        End::Planned(_) => None,
    }
}

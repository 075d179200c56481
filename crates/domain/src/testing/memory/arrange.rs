use async_trait::async_trait;
use chrono::{DateTime, Utc};

use super::MemoryStore;
use crate::access_changes::Concern;
use crate::api_key::{ApiKey, Revocation};
use crate::id::MembershipId;
use crate::membership::Membership;
use crate::organization::Organization;
use crate::sign_in::password::PasswordHash;
use crate::testing::conformance::Arrange;
use crate::user::User;
use crate::validity::End;

#[async_trait]
impl Arrange for MemoryStore {
    async fn add_organization(&self, organization: Organization) {
        self.put_organization(organization);
    }

    async fn add_user(&self, user: User) {
        self.put_user(user, PasswordHash::from_phc_string("no password".to_owned()));
    }

    async fn add_membership(&self, membership: Membership) {
        self.put_membership(membership);
    }

    async fn end_membership(&self, membership: MembershipId, at: DateTime<Utc>) {
        Self::end_membership(self, membership, at);
    }

    async fn plan_end_of_membership(&self, membership: MembershipId, at: DateTime<Utc>) {
        for stored in &mut self.lock().memberships {
            if stored.id == membership {
                stored.end = Some(End::Planned(at));
            }
        }
        self.lock().access.raise(Concern::Consumer(membership));
    }

    async fn plan_revocation(&self, key: &ApiKey, revocation: Revocation) {
        for stored in &mut self.lock().keys {
            if stored.key.id == key.id {
                stored.key.revocation = Some(revocation.clone());
            }
        }
        self.lock().access.raise(Concern::ApiKey(key.id));
    }
}

//! The stores of a case.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use futures_util::future::BoxFuture;

use crate::administration::ports::{
    InvitationStore, MemberStore, Names, OrganizationKeyStore, OrganizationStore, ProjectStore,
};
use crate::api_key::{ApiKey, Revocation};
use crate::id::MembershipId;
use crate::membership::Membership;
use crate::organization::Organization;
use crate::planned_ends::ports::PlannedEndStore;
use crate::ports::{ApiKeys, AuditFeed, AuditLog, Credentials, LastUses, Memberships, ReachableProjects};
use crate::retention::ports::RetentionStore;
use crate::sign_in::ports::{
    AccountStore, InstallationStore, LimitedAuditLog, OpenInvitations, SessionStore, Throttle,
};
use crate::storage_ports::StoragePorts;
use crate::user::User;

/// Starts a task at once, beside the caller and other tasks. The future that it returns waits for the task's
/// end.
pub type Spawn = fn(BoxFuture<'static, ()>) -> BoxFuture<'static, ()>;

/// One fresh, empty store, behind the ports that keys need: all that a service implements that has users and
/// sign-in of its own.
///
/// The ports see the same data, but need not be one struct: a decorator takes the place of the port it
/// decorates.
#[derive(Clone)]
#[expect(missing_docs, reason = "a field without a line is what its type says")]
pub struct KeyStores {
    pub api_keys: Arc<dyn ApiKeys>,
    /// The hot path's view of keys.
    pub credentials: Arc<dyn Credentials>,
    pub memberships: Arc<dyn Memberships>,
    pub audit_log: Arc<dyn AuditLog>,
    /// States that the ports cannot create.
    pub arrange: Arc<dyn Arrange>,
    /// How to run tasks side by side.
    pub spawn: Spawn,
}

impl KeyStores {
    /// The ports of one struct that implements them all.
    #[must_use]
    pub fn of<S>(store: Arc<S>, arrange: Arc<dyn Arrange>, spawn: Spawn) -> Self
    where
        S: ApiKeys + Credentials + Memberships + AuditLog + 'static,
    {
        Self {
            api_keys: Arc::clone(&store) as _,
            credentials: Arc::clone(&store) as _,
            memberships: Arc::clone(&store) as _,
            audit_log: store,
            arrange,
            spawn,
        }
    }
}

impl AsRef<Self> for KeyStores {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// One fresh, empty store, behind all its ports: what Keyward itself needs.
#[derive(Clone)]
#[expect(missing_docs, reason = "a field without a line is what its type says")]
pub struct Stores {
    /// The ports that keys need.
    pub keys: KeyStores,
    pub accounts: Arc<dyn AccountStore>,
    pub sessions: Arc<dyn SessionStore>,
    pub throttle: Arc<dyn Throttle>,
    /// The log of what strangers bring about.
    pub limited_audit_log: Arc<dyn LimitedAuditLog>,
    pub installation: Arc<dyn InstallationStore>,
    /// The settings of organizations.
    pub organizations: Arc<dyn OrganizationStore>,
    pub members: Arc<dyn MemberStore>,
    pub invitations: Arc<dyn InvitationStore>,
    /// Invitations, as the person with the link uses them.
    pub open_invitations: Arc<dyn OpenInvitations>,
    pub projects: Arc<dyn ProjectStore>,
    /// The projects that keys reach.
    pub reachable_projects: Arc<dyn ReachableProjects>,
    /// The names of subjects.
    pub names: Arc<dyn Names>,
    /// When keys were last used.
    pub last_uses: Arc<dyn LastUses>,
    /// Keys, as owners see them.
    pub organization_keys: Arc<dyn OrganizationKeyStore>,
    /// The audit log in the order of commits.
    pub audit_feed: Arc<dyn AuditFeed>,
    /// Purges expired records.
    pub retention: Arc<dyn RetentionStore>,
    /// Records planned ends that have come.
    pub planned_ends: Arc<dyn PlannedEndStore>,
}

impl Stores {
    /// The ports of one struct that implements them all.
    #[must_use]
    pub fn of<S: StoragePorts + 'static>(store: Arc<S>, arrange: Arc<dyn Arrange>, spawn: Spawn) -> Self {
        Self {
            keys: KeyStores::of(Arc::clone(&store), arrange, spawn),
            accounts: Arc::clone(&store) as _,
            sessions: Arc::clone(&store) as _,
            throttle: Arc::clone(&store) as _,
            limited_audit_log: Arc::clone(&store) as _,
            installation: Arc::clone(&store) as _,
            organizations: Arc::clone(&store) as _,
            members: Arc::clone(&store) as _,
            invitations: Arc::clone(&store) as _,
            open_invitations: Arc::clone(&store) as _,
            projects: Arc::clone(&store) as _,
            reachable_projects: Arc::clone(&store) as _,
            names: Arc::clone(&store) as _,
            last_uses: Arc::clone(&store) as _,
            organization_keys: Arc::clone(&store) as _,
            audit_feed: Arc::clone(&store) as _,
            planned_ends: Arc::clone(&store) as _,
            retention: store,
        }
    }
}

impl From<Stores> for KeyStores {
    fn from(stores: Stores) -> Self {
        stores.keys
    }
}

impl AsRef<KeyStores> for Stores {
    fn as_ref(&self) -> &KeyStores {
        &self.keys
    }
}

/// Creates states that the key ports cannot, directly in the store. Panics if it fails.
#[async_trait]
pub trait Arrange: Send + Sync {
    /// Adds an organization.
    async fn add_organization(&self, organization: Organization);

    /// Adds a user. No case asks how they sign in.
    async fn add_user(&self, user: User);

    /// Makes an existing user a member of an existing organization.
    async fn add_membership(&self, membership: Membership);

    /// Ends a live membership, also one whose end is planned.
    async fn end_membership(&self, membership: MembershipId, at: DateTime<Utc>);

    /// Plans the end of a live membership, which lies ahead.
    async fn plan_end_of_membership(&self, membership: MembershipId, at: DateTime<Utc>);

    /// Plans the revocation of a valid key for a time ahead, by an administrator.
    async fn plan_revocation(&self, key: &ApiKey, revocation: Revocation);
}

//! All use cases over one in-memory store.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::access::{Authenticate, Caller};
use crate::administration::AuditTrail;
use crate::administration::OrganizationKeys;
use crate::administration::{Invitations, Members, Organizations, Projects};
use crate::api_key::KeyName;
use crate::audit::RequestSource;
use crate::clock::Clock;
use crate::holder::Holder;
use crate::keys::{IssuedKey, KeyDraft, PersonalKeys};
use crate::membership::{Member, Role};
use crate::organization::Organization;
use crate::ports::KeyLimits;
use crate::sign_in::joining::JoiningPorts;
use crate::sign_in::own_account::OwnAccountPorts;
use crate::sign_in::password::Password;
use crate::sign_in::ports::SessionStore;
use crate::sign_in::seen_sessions::SeenSessions;
use crate::sign_in::signing_in::SignInPorts;
use crate::sign_in::{Accounts, Joining, OwnAccount, Setup, SignIn};
use crate::testing::{Builder, MemoryStore, PlainHasher};

/// A whole installation in memory, with a fixed clock and seeded randomness.
#[derive(Clone)]
pub struct TestInstallation {
    /// The store of all its ports.
    pub store: MemoryStore,
    /// Its clock, randomness and identifiers.
    pub builder: Builder,
    /// The limits of a consumer's keys.
    pub limits: KeyLimits,
    /// When its sessions were last seen, until [`TestInstallation::write_seen_sessions`].
    pub seen_sessions: Arc<SeenSessions>,
}

impl TestInstallation {
    /// The password of every member made by [`TestInstallation::member`].
    pub const PASSWORD: &'static str = "quiet otters read maps";

    /// An installation that is not set up yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            store: MemoryStore::new(),
            builder: Builder::new(1),
            limits: KeyLimits::default(),
            seen_sessions: Arc::new(SeenSessions::new(1_000)),
        }
    }

    /// The time of its clock.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        self.builder.clock.now()
    }

    /// An organization, stored. The installation counts as set up from then on.
    pub fn organization(&self, name: &str) -> Organization {
        let organization = self.builder.organization(name);
        self.store.put_organization(organization.clone());
        organization
    }

    /// A new user who is a member, stored.
    pub fn member(&self, organization: &Organization, username: &str, role: Role) -> Member {
        let user = self.builder.user(username);
        let membership = self.builder.membership(organization, &user, role);
        self.store.put_user(
            user.clone(),
            PlainHasher::hash_of(&Password::attempt(Self::PASSWORD)),
        );
        self.store.put_membership(membership.clone());
        Member {
            user,
            organization: organization.clone(),
            membership,
        }
    }

    /// Issues a key that may manage keys.
    pub async fn issue(&self, holder: &Holder, name: &str) -> IssuedKey {
        self.issue_with(holder, name, Some(true)).await
    }

    /// Issues a key that may not manage keys.
    pub async fn issue_restricted(&self, holder: &Holder, name: &str) -> IssuedKey {
        self.issue_with(holder, name, Some(false)).await
    }

    async fn issue_with(&self, holder: &Holder, name: &str, can_manage_keys: Option<bool>) -> IssuedKey {
        let draft = KeyDraft {
            can_manage_keys,
            ..KeyDraft::named(KeyName::parse(name).expect("a key name"))
        };
        self.keys()
            .issue(holder, draft, None, RequestSource::default())
            .await
            .expect("a new key")
    }

    /// The caller that a key's token stands for.
    pub async fn caller(&self, issued: &IssuedKey) -> Caller {
        self.authenticate()
            .caller(issued.token.expose(), None)
            .await
            .expect("an accepted token")
    }

    /// The use cases of personal keys.
    #[must_use]
    pub fn keys(&self) -> PersonalKeys {
        PersonalKeys::new(
            Arc::new(self.store.clone()),
            self.builder.sources.clone(),
            self.limits,
        )
    }

    /// Authenticates tokens, as the API does.
    #[must_use]
    pub fn authenticate(&self) -> Authenticate {
        Authenticate::new(
            Arc::new(self.store.clone()),
            Arc::new(self.builder.sources.clone()),
        )
    }

    /// Signs people in, as the console does.
    #[must_use]
    pub fn sign_in(&self) -> SignIn {
        let ports = SignInPorts {
            accounts: Arc::new(self.store.clone()),
            sessions: Arc::new(self.store.clone()),
            throttle: Arc::new(self.store.clone()),
            installation: Arc::new(self.store.clone()),
            refusals: Arc::new(self.store.clone()),
            memberships: Arc::new(self.store.clone()),
            hasher: Arc::new(PlainHasher),
            seen: Arc::clone(&self.seen_sessions),
        };
        SignIn::new(ports, self.builder.sources.clone())
    }

    /// Writes them once, as a server does every few seconds.
    pub async fn write_seen_sessions(&self) {
        while let Some((session, at)) = self.seen_sessions.next() {
            self.store.seen(session, at).await.expect("the store answers");
            self.seen_sessions.forget(session, at);
        }
    }

    /// The use case of the first-run setup.
    #[must_use]
    pub fn setup(&self) -> Setup {
        let store = Arc::new(self.store.clone());
        Setup::new(store, Arc::new(PlainHasher), self.builder.sources.clone())
    }

    /// A user's own account.
    #[must_use]
    pub fn own_account(&self) -> OwnAccount {
        let store = Arc::new(self.store.clone());
        let ports = OwnAccountPorts {
            accounts: Arc::clone(&store) as _,
            sessions: Arc::clone(&store) as _,
            installation: Arc::clone(&store) as _,
            throttle: Arc::clone(&store) as _,
            audit_log: Arc::clone(&store) as _,
            refusals: store,
            hasher: Arc::new(PlainHasher),
        };
        OwnAccount::new(ports, self.builder.sources.clone())
    }

    /// The audit events that an organization's owners see.
    #[must_use]
    pub fn audit_trail(&self) -> AuditTrail {
        let store = Arc::new(self.store.clone());
        AuditTrail::new(
            Arc::clone(&store) as _,
            Arc::clone(&store) as _,
            store,
            self.builder.sources.clone(),
        )
    }

    /// The accounts, as the command line manages them.
    #[must_use]
    pub fn accounts(&self) -> Accounts {
        let store = Arc::new(self.store.clone());
        let hasher = Arc::new(PlainHasher);
        Accounts::new(store.clone(), store, hasher, self.builder.sources.clone())
    }

    /// The members, as owners manage them.
    #[must_use]
    pub fn members(&self) -> Members {
        let store = Arc::new(self.store.clone());
        Members::new(Arc::clone(&store) as _, store, self.builder.sources.clone())
    }

    /// The settings of organizations.
    #[must_use]
    pub fn organizations(&self) -> Organizations {
        let store = Arc::new(self.store.clone());
        Organizations::new(Arc::clone(&store) as _, store, self.builder.sources.clone())
    }

    /// The projects, as owners manage them.
    #[must_use]
    pub fn projects(&self) -> Projects {
        let store = Arc::new(self.store.clone());
        Projects::new(Arc::clone(&store) as _, store, self.builder.sources.clone())
    }

    /// The invitations, as owners make them.
    #[must_use]
    pub fn invitations(&self) -> Invitations {
        let store = Arc::new(self.store.clone());
        Invitations::new(Arc::clone(&store) as _, store, self.builder.sources.clone())
    }

    /// Joining with an invitation.
    #[must_use]
    pub fn joining(&self) -> Joining {
        let ports = JoiningPorts {
            invitations: Arc::new(self.store.clone()),
            accounts: Arc::new(self.store.clone()),
            throttle: Arc::new(self.store.clone()),
            hasher: Arc::new(PlainHasher),
        };
        Joining::new(ports, self.builder.sources.clone())
    }

    /// The keys of an organization, as owners see them.
    #[must_use]
    pub fn organization_keys(&self) -> OrganizationKeys {
        let store = Arc::new(self.store.clone());
        OrganizationKeys::new(store, self.builder.sources.clone())
    }
}

impl Default for TestInstallation {
    fn default() -> Self {
        Self::new()
    }
}

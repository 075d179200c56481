//! A store with one fault of a kind that real adapters have.

mod accounts;
mod acting;
mod api_keys;
mod audit_feed;
mod audit_log;
mod columns;
mod columns_of_organizations;
mod credentials;
mod digests;
mod fault;
mod generations;
mod installation;
mod invitations;
mod members;
mod memberships;
mod open_invitations;
mod organization_keys;
mod pages;
mod planned_ends;
mod projects;
mod reachable_projects;
mod retention;
mod sessions;
mod suite;
mod throttle;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use keyward_domain::access::Credential;
use keyward_domain::api_key::ApiKey;
use keyward_domain::audit::Actor;
use keyward_domain::id::{
    ApiKeyId, AuditEventId, InvitationId, MembershipId, OrganizationId, ProjectId, SessionId, UserId,
};
use keyward_domain::invitation::Invitation;
use keyward_domain::project::Project;
use keyward_domain::sign_in::session::SessionDigest;
use keyward_domain::testing::conformance::{KeyStores, Stores};
use keyward_domain::testing::{Builder, MemoryStore};
use keyward_domain::token::TokenDigest;

pub(crate) use self::columns::{Column, blank_texts};
pub(crate) use self::fault::{Fault, List, Secret};
pub(crate) use self::suite::{assert_caught, assert_fails, caught, failed};
use crate::memory_store::ON_TOKIO;

/// Wraps a sound [`MemoryStore`] and adds a fault, with the state that the faults need.
pub(crate) struct BrokenStore {
    fault: Fault,
    sound: MemoryStore,
    restricted: Mutex<HashSet<ApiKeyId>>,
    consumers: Mutex<HashMap<ApiKeyId, MembershipId>>,
    digests: Mutex<HashMap<ApiKeyId, TokenDigest>>,
    sessions: Mutex<HashMap<SessionId, SessionDigest>>,
    credentials: Mutex<Vec<(TokenDigest, Credential)>>,
    buckets: Mutex<HashMap<[u8; 32], DateTime<Utc>>>,
    changes: Mutex<HashMap<MembershipId, DateTime<Utc>>>,
    /// The real actors of acts that were passed to the sound store as an administrator's.
    creators: Mutex<HashMap<ProjectId, Actor>>,
    revokers: Mutex<HashMap<ApiKeyId, Actor>>,
    /// Events that have a number and are hidden for now.
    uncommitted: Mutex<HashSet<AuditEventId>>,
    /// The real parents of keys that were passed to the sound store as created in the console.
    parents: Mutex<HashMap<ApiKeyId, ApiKeyId>>,
    /// Changed keys whose changes the sound store would have refused.
    late: Mutex<HashMap<ApiKeyId, ApiKey>>,
    stored_digests: Mutex<Vec<(Secret, [u8; 32])>>,
    /// Its clock stands still at the start time.
    beginning: Builder,
    projects: Mutex<HashMap<ProjectId, Project>>,
    /// The organizations with invitations.
    inviting: Mutex<HashSet<OrganizationId>>,
    /// Invitations that the sound store has revoked.
    kept_invitations: Mutex<Vec<Invitation>>,
    /// The time until which invitations of an organization were created that no longer work for a user.
    removed_until: Mutex<HashMap<(OrganizationId, UserId), DateTime<Utc>>>,
    /// The creation times that were requested for invitations.
    invited_at: Mutex<HashMap<InvitationId, DateTime<Utc>>>,
    removed_keys: Mutex<HashSet<ApiKeyId>>,
}

impl BrokenStore {
    fn stores(fault: Fault) -> Stores {
        let sound = MemoryStore::new();
        let broken = Arc::new(Self {
            fault,
            sound: sound.clone(),
            restricted: Mutex::default(),
            consumers: Mutex::default(),
            sessions: Mutex::default(),
            digests: Mutex::default(),
            credentials: Mutex::default(),
            buckets: Mutex::default(),
            changes: Mutex::default(),
            creators: Mutex::default(),
            revokers: Mutex::default(),
            uncommitted: Mutex::default(),
            parents: Mutex::default(),
            late: Mutex::default(),
            stored_digests: Mutex::default(),
            beginning: Builder::new(2),
            projects: Mutex::default(),
            inviting: Mutex::default(),
            kept_invitations: Mutex::default(),
            removed_until: Mutex::default(),
            invited_at: Mutex::default(),
            removed_keys: Mutex::default(),
        });
        let sound = Arc::new(sound);
        let stores = Stores::of(Arc::clone(&sound), sound, ON_TOKIO);
        Stores {
            keys: KeyStores {
                api_keys: Arc::clone(&broken) as _,
                credentials: Arc::clone(&broken) as _,
                memberships: Arc::clone(&broken) as _,
                audit_log: Arc::clone(&broken) as _,
                ..stores.keys
            },
            accounts: Arc::clone(&broken) as _,
            sessions: Arc::clone(&broken) as _,
            installation: Arc::clone(&broken) as _,
            audit_feed: Arc::clone(&broken) as _,
            throttle: Arc::clone(&broken) as _,
            members: Arc::clone(&broken) as _,
            invitations: Arc::clone(&broken) as _,
            open_invitations: Arc::clone(&broken) as _,
            projects: Arc::clone(&broken) as _,
            reachable_projects: Arc::clone(&broken) as _,
            planned_ends: Arc::clone(&broken) as _,
            retention: Arc::clone(&broken) as _,
            organization_keys: broken,
            ..stores
        }
    }
}

impl BrokenStore {
    /// The time that is passed to the sound store.
    fn asked_about(&self, list: List, now: DateTime<Utc>) -> DateTime<Utc> {
        match self.fault {
            Fault::TreatsPlannedEndsAsFuture(faulty) if faulty == list => DateTime::<Utc>::MIN_UTC,
            Fault::TreatsPlannedEndsAsPast(faulty) if faulty == list => DateTime::<Utc>::MAX_UTC,
            _ => now,
        }
    }
}

/// Lets other tasks run if the caller runs in a task. Outside a task it returns at once, so that a caller
/// that is polled once completes.
async fn pause() {
    if tokio::task::try_id().is_some() {
        tokio::task::yield_now().await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

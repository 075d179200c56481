//! A store in memory that keeps every promise of the ports, for tests and for trying the crate out.

mod access;
mod access_changes;
mod accounts;
mod api_keys;
mod arrange;
mod audit_feed;
mod audit_log;
mod authority;
mod created_with;
mod credentials;
mod event_numbers;
mod installation;
mod invitations;
mod last_uses;
mod members;
mod memberships;
mod names;
mod organization_keys;
mod organizations;
mod planned_ends;
mod projects;
mod retention;
mod sessions;
mod throttle;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};

use self::created_with::CreatedWith;
use crate::access_changes::Concern;
use crate::administration::ports::MemberProfile;
use crate::api_key::ApiKey;
use crate::audit::AuditEvent;
use crate::id::{InvitationId, MembershipId, OrganizationId, ProjectId, UserId};
use crate::idempotency_key::IdempotencyKey;
use crate::invitation::{Invitation, InvitationDigest};
use crate::membership::Membership;
use crate::organization::Organization;
use crate::page::{Page, PageRequest};
use crate::ports::StorageError;
use crate::project::Project;
use crate::sign_in::accounts::Account;
use crate::sign_in::password::PasswordHash;
use crate::sign_in::remembered_browser::BrowserKey;
use crate::sign_in::session::{Session, SessionDigest};
use crate::sign_in::setup::SetupDigest;
use crate::token::TokenDigest;
use crate::user::User;
use crate::validity::End;

/// Keeps everything in memory, behind one lock: each port method is one critical section, and so atomic.
///
/// Clones share the stored data.
#[derive(Clone, Default)]
pub struct MemoryStore {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    questions: usize,
    down: bool,
    refusal: Option<fn() -> StorageError>,
    organizations: Vec<Organization>,
    accounts: Vec<Account>,
    memberships: Vec<Membership>,
    invitations: Vec<StoredInvitation>,
    projects: Vec<Project>,
    project_members: Vec<(ProjectId, MembershipId)>,
    keys: Vec<StoredKey>,
    invitations_created_with: CreatedWith<OrganizationId, InvitationId>,
    projects_created_with: CreatedWith<OrganizationId, ProjectId>,
    sessions: Vec<StoredSession>,
    throttle: HashMap<[u8; 32], DateTime<Utc>>,
    changes_empty_at: HashMap<MembershipId, DateTime<Utc>>,
    setup_link: Option<(SetupDigest, DateTime<Utc>)>,
    browser_key: Option<BrowserKey>,
    events: Vec<AuditEvent>,
    numbers: event_numbers::Numbers,
    clock_trusted_at: Option<DateTime<Utc>>,
    access: access::Access,
}

struct StoredInvitation {
    invitation: Invitation,
    digest: InvitationDigest,
}

struct StoredKey {
    key: ApiKey,
    digest: TokenDigest,
    idempotency_key: Option<IdempotencyKey>,
    /// When the earliest of this key and its ancestors was created, also those that retention has removed.
    tree_began_at: DateTime<Utc>,
}

struct StoredSession {
    session: Session,
    digest: SessionDigest,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stores an organization.
    pub fn put_organization(&self, organization: Organization) {
        self.lock().organizations.push(organization);
    }

    /// Stores a user.
    pub fn put_user(&self, user: User, password_hash: PasswordHash) {
        self.lock().accounts.push(Account { user, password_hash });
    }

    /// Stores a membership.
    pub fn put_membership(&self, membership: Membership) {
        self.lock().memberships.push(membership);
    }

    /// Stores a project.
    pub fn put_project(&self, project: Project) {
        self.lock().projects.push(project);
    }

    /// Stores an invitation.
    pub fn put_invitation(&self, invitation: Invitation, digest: InvitationDigest) {
        self.lock()
            .invitations
            .push(StoredInvitation { invitation, digest });
    }

    /// Ends a membership, also one whose end is planned.
    pub fn end_membership(&self, id: MembershipId, at: DateTime<Utc>) {
        for membership in self
            .lock()
            .memberships
            .iter_mut()
            .filter(|membership| membership.id == id)
        {
            if !matches!(membership.end, Some(End::Come(_))) {
                membership.end = Some(End::Come(at));
            }
        }
        self.lock().access.raise(Concern::Consumer(id));
    }

    /// From now on, every call fails with [`StorageError::Unavailable`], until [`MemoryStore::come_back`].
    pub fn go_down(&self) {
        self.lock().down = true;
    }

    /// Ends [`MemoryStore::go_down`].
    pub fn come_back(&self) {
        self.lock().down = false;
    }

    /// From now on, every change fails with this error, as when its event cannot be written, until
    /// [`MemoryStore::allow_changes`]. Reads still work.
    pub fn refuse_changes(&self, refusal: fn() -> StorageError) {
        self.lock().refusal = Some(refusal);
    }

    /// Ends [`MemoryStore::refuse_changes`].
    pub fn allow_changes(&self) {
        self.lock().refusal = None;
    }

    /// How often a port was called so far.
    #[must_use]
    pub fn questions(&self) -> usize {
        self.lock().questions
    }

    /// Every audit event so far, oldest first.
    #[must_use]
    pub fn events(&self) -> Vec<AuditEvent> {
        self.lock().events.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> Result<MutexGuard<'_, State>, StorageError> {
        let mut state = self.lock();
        state.questions += 1;
        if state.down {
            Err(StorageError::Unavailable(
                "the store was taken down by a test".into(),
            ))
        } else {
            Ok(state)
        }
    }
}

impl State {
    /// Writes events, all or none; a change comes after, so that it happens only with its events.
    fn write(&mut self, events: Vec<AuditEvent>) -> Result<(), StorageError> {
        if let Some(refusal) = self.refusal {
            return Err(refusal());
        }
        let is_taken = |event: &AuditEvent| self.events.iter().any(|written| written.id == event.id);
        if events.iter().any(is_taken) {
            return Err(StorageError::Defect("two events share an identifier".into()));
        }
        for event in &events {
            self.numbers.give(event.id);
        }
        let stored = &self.keys;
        self.access.note(&events, |id| {
            let key = stored.iter().find(|stored| stored.key.id == id);
            key.map(|stored| stored.key.consumer_id)
        });
        self.events.extend(events);
        Ok(())
    }

    fn user(&self, id: UserId) -> Option<&User> {
        self.accounts
            .iter()
            .map(|account| &account.user)
            .find(|user| user.id == id)
    }

    fn profile(&self, membership: &Membership) -> Option<MemberProfile> {
        Some(MemberProfile {
            user: self.user(membership.user_id)?.clone(),
            membership: membership.clone(),
        })
    }

    fn organization(&self, id: OrganizationId) -> Option<&Organization> {
        self.organizations
            .iter()
            .find(|organization| organization.id == id)
    }

    fn membership(&self, id: MembershipId) -> Option<&Membership> {
        self.memberships.iter().find(|membership| membership.id == id)
    }
}

fn to_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// A page of a list that stands in no order.
fn newest_first<T, Id: Ord + Copy>(
    mut items: Vec<T>,
    page: PageRequest<Id>,
    id: impl Fn(&T) -> Id,
) -> Page<T, Id> {
    items.retain(|item| page.after.is_none_or(|after| id(item) < after));
    items.sort_by_key(|item| Reverse(id(item)));
    items.truncate(page.size.items() + 1);
    Page::from_one_more(items, page.size, id)
}

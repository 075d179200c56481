//! Reading audit events: of an organization, for its owners, and of the installation, for administrators.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::administration::Authority;
use crate::administration::change_limit::ChangeLimit;
use crate::administration::ports::{Named, Names};
use crate::audit::{Action, Actor, AuditEvent, Subject};
use crate::id::{ApiKeyId, OrganizationId, UserId};
use crate::leaked_keys::NOTICE_PERIOD;
use crate::membership::Member;
use crate::page::{Page, PageRequest, PageSize};
use crate::ports::{AuditFilter, AuditLog, AuditPosition, StorageError};
use crate::sign_in::ports::Throttle;
use crate::sources::Sources;
use crate::user::Username;

const MAX_SEARCH_STEPS: usize = 4;

/// The use cases that read audit events.
#[derive(Clone)]
pub struct AuditTrail {
    audit_log: Arc<dyn AuditLog>,
    names: Arc<dyn Names>,
    pub(super) limit: ChangeLimit,
    pub(super) sources: Sources,
}

/// A page of events, and the names of their subjects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditPage {
    /// The events, latest first.
    pub events: Page<AuditEvent, AuditPosition>,
    /// The current names of subjects in the events and the filter; absent for removed ones.
    pub names: HashMap<Subject, Named>,
}

impl AuditTrail {
    /// The use cases over a store.
    #[must_use]
    pub fn new(
        audit_log: Arc<dyn AuditLog>,
        names: Arc<dyn Names>,
        throttle: Arc<dyn Throttle>,
        sources: Sources,
    ) -> Self {
        Self {
            audit_log,
            names,
            limit: ChangeLimit(throttle),
            sources,
        }
    }

    /// A page of the organization's events, latest first.
    pub async fn list(
        &self,
        authority: &Authority,
        filter: AuditFilter,
        page: PageRequest<AuditPosition>,
    ) -> Result<AuditPage, StorageError> {
        self.page(Some(authority.organization_id()), filter, page).await
    }

    /// Recent uses of the member's keys that no longer work, the latest first. Some may be missing: the log
    /// does not record every use, and only the latest events are searched. The member MUST be signed in: a
    /// key may read only about keys in its reach.
    pub async fn refused_uses(&self, member: &Member) -> Result<AuditPage, StorageError> {
        let filter = AuditFilter {
            action: Some(Action::UseApiKey),
            subject: Some(Subject::Membership(member.membership.id)),
            from: Some(self.sources.now() - NOTICE_PERIOD),
            ..AuditFilter::default()
        };
        let organization = Some(member.organization.id);
        let items = self.latest(organization, &filter, PageSize::FEW).await?;
        let events = Page { items, next: None };
        self.with_names(organization, &filter, events).await
    }

    /// The latest events. A store may search in several steps; if the events are rare, the search ends after
    /// [`MAX_SEARCH_STEPS`].
    async fn latest(
        &self,
        organization: Option<OrganizationId>,
        filter: &AuditFilter,
        size: PageSize,
    ) -> Result<Vec<AuditEvent>, StorageError> {
        let mut events = Vec::new();
        let mut after = None;
        for _ in 0..MAX_SEARCH_STEPS {
            let request = PageRequest { size, after };
            let found = self.audit_log.list(organization, filter.clone(), request).await?;
            events.extend(found.items);
            after = found.next;
            if after.is_none() || events.len() >= size.items() {
                break;
            }
        }
        events.truncate(size.items());
        Ok(events)
    }

    pub(super) async fn record(&self, event: AuditEvent) -> Result<(), StorageError> {
        self.audit_log.record(event).await
    }

    /// Finds an actor by username, or by the identifier of a user or key, even if it was removed.
    pub async fn find_actor(
        &self,
        authority: &Authority,
        typed: &str,
    ) -> Result<Option<Actor>, StorageError> {
        let organization = authority.organization_id();
        if let Ok(username) = Username::parse(typed)
            && let Some(user) = self.names.find_user(organization, &username).await?
        {
            return Ok(Some(Actor::User(user)));
        }
        // Tried second, because a username may look like an identifier.
        let found = self.find_subject(authority, typed).await?;
        Ok(found.and_then(Subject::as_actor))
    }

    /// Finds a subject of any kind by its identifier, even if it was removed.
    pub async fn find_subject(
        &self,
        authority: &Authority,
        typed: &str,
    ) -> Result<Option<Subject>, StorageError> {
        let Ok(id) = typed.parse::<ApiKeyId>() else {
            return Ok(None);
        };
        self.names
            .find_subject(authority.organization_id(), id.as_uuid())
            .await
    }

    pub(super) async fn page(
        &self,
        organization: Option<OrganizationId>,
        filter: AuditFilter,
        page: PageRequest<AuditPosition>,
    ) -> Result<AuditPage, StorageError> {
        let events = self.audit_log.list(organization, filter.clone(), page).await?;
        self.with_names(organization, &filter, events).await
    }

    async fn with_names(
        &self,
        organization: Option<OrganizationId>,
        filter: &AuditFilter,
        events: Page<AuditEvent, AuditPosition>,
    ) -> Result<AuditPage, StorageError> {
        let asked_for = [filter.actor.and_then(Actor::as_subject), filter.subject];
        let subjects_of = events.items.iter().flat_map(subjects_of);
        let subjects = subjects_of.chain(asked_for.into_iter().flatten()).collect();
        let names = self.names_of(organization, subjects).await?;
        Ok(AuditPage { events, names })
    }

    pub(super) async fn names_of(
        &self,
        organization: Option<OrganizationId>,
        subjects: HashSet<Subject>,
    ) -> Result<HashMap<Subject, Named>, StorageError> {
        let subjects: Vec<Subject> = subjects.into_iter().collect();
        if subjects.is_empty() {
            return Ok(HashMap::new());
        }
        match organization {
            Some(organization) => self.names.identify(organization, &subjects).await,
            None => self.names_of_users(&subjects).await,
        }
    }

    /// Events of the installation have only users as subjects.
    async fn names_of_users(&self, subjects: &[Subject]) -> Result<HashMap<Subject, Named>, StorageError> {
        let ids = subjects.iter().filter_map(|subject| match subject {
            Subject::User(id) => Some(*id),
            Subject::Installation
            | Subject::Organization(_)
            | Subject::Membership(_)
            | Subject::Invitation(_)
            | Subject::Project(_)
            | Subject::ApiKey(_)
            | Subject::Session(_)
            | Subject::Other { .. } => None,
        });
        let users = self.names.users(&ids.collect::<Vec<UserId>>()).await?;
        let named = users.into_iter().map(|user| {
            let named = Named {
                name: user.display_name.to_string(),
                username: Some(user.username),
                hint: None,
            };
            (Subject::User(user.id), named)
        });
        Ok(named.collect())
    }
}

/// The actor, subject and object of an event.
pub(super) fn subjects_of(event: &AuditEvent) -> impl Iterator<Item = Subject> {
    [event.actor.as_subject(), Some(event.subject), event.object]
        .into_iter()
        .flatten()
}

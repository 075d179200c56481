//! Follows the audit log in commit order, each event once, for programs that ship it elsewhere.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::administration::audit_trail::subjects_of;
use crate::administration::ports::Named;
use crate::administration::{AuditTrail, Authority};
use crate::audit::{Action, Actor, AuditEvent, RequestSource, Subject};
use crate::id::OrganizationId;
use crate::page::PageSize;
use crate::ports::{AuditFeed, AuditFilter, FeedPage, FeedPosition, ReadFeedError, StorageError};

/// The log to follow. Only administrators can follow logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowedLog(LogScope);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogScope {
    Installation,
    Organization(OrganizationId),
    All,
}

/// The position at which following starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedStart {
    /// At the oldest stored event.
    Beginning,
    /// At the end: only events committed from now on.
    End,
    /// At the first event after this position, whose own event may have been removed.
    After(FeedPosition),
}

/// A batch of followed events, and the names of their subjects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowedEvents {
    /// The events in commit order, each with its position.
    pub events: Vec<(FeedPosition, AuditEvent)>,
    /// The current names of the events' subjects; absent for removed ones.
    pub names: HashMap<Subject, Named>,
    /// Whether more events may be available now.
    pub has_more: bool,
    /// Whether retention removed events before they were read here; reported once.
    pub were_some_removed: bool,
}

/// Follows the audit log from a start position. Writes an audit event of its own before it returns the first
/// events.
pub struct AuditFollower {
    feed: Arc<dyn AuditFeed>,
    trail: AuditTrail,
    log: FollowedLog,
    filter: AuditFilter,
    start: Option<FeedStart>,
    after: Option<FeedPosition>,
    until: Until,
    /// The highest number of a removed event that was reported; `None` before the first read from the
    /// beginning.
    removed_through: Option<u64>,
    is_recorded: bool,
}

/// The end of a reading.
#[derive(Clone, Copy)]
enum Until {
    /// Nowhere: it follows.
    Never,
    /// At the end of the log, as it is at the first reading.
    End,
    /// With the event of this number, the last of the log at the first reading; 0 if the log was empty.
    Number(u64),
}

impl FollowedLog {
    /// The events of the installation.
    pub const INSTALLATION: Self = Self(LogScope::Installation);

    /// The events of the installation and of all organizations.
    pub const ALL: Self = Self(LogScope::All);

    /// The events of an organization.
    #[must_use]
    pub const fn of_organization(authority: &Authority) -> Self {
        Self(LogScope::Organization(authority.organization_id()))
    }

    fn has(self, event: &AuditEvent) -> bool {
        match self.0 {
            LogScope::Installation => event.organization_id.is_none(),
            LogScope::Organization(organization) => event.organization_id == Some(organization),
            LogScope::All => true,
        }
    }
}

impl AuditFollower {
    /// Follows a log without end, from a position, for events that pass the filter.
    #[must_use]
    pub fn new(
        feed: Arc<dyn AuditFeed>,
        trail: AuditTrail,
        log: FollowedLog,
        filter: AuditFilter,
        start: FeedStart,
    ) -> Self {
        Self {
            feed,
            trail,
            log,
            filter,
            start: Some(start),
            after: None,
            until: Until::Never,
            removed_through: None,
            is_recorded: false,
        }
    }

    /// Stops at the end that the log has at the first read.
    #[must_use]
    pub fn to_the_end(self) -> Self {
        Self {
            until: Until::End,
            ..self
        }
    }

    /// Reads the next events. It may return none although [more](FollowedEvents::has_more) are available, if
    /// those that it read belong to other logs.
    ///
    /// # Errors
    /// See [`ReadFeedError`]. The follower stays where it was, and may be asked again.
    pub async fn next(&mut self) -> Result<FollowedEvents, ReadFeedError> {
        self.find_start_and_end().await?;
        let page = self.feed.events_after(self.after, PageSize::EXPORT).await?;
        let were_some_removed = self
            .removed_through
            .is_some_and(|said| page.removed_through > said.max(page.after));
        let is_full = page.entries.len() >= PageSize::EXPORT.items();
        let last = page.entries.last().map(|(position, _)| *position);
        let removed_through = page.removed_through;
        let events = self.wanted(page);
        let names = self.names_in(&events).await?;
        if !self.is_recorded {
            self.trail.record(self.event()).await?;
            self.is_recorded = true;
        }
        self.after = last.or(self.after);
        self.removed_through = Some(removed_through);
        Ok(FollowedEvents {
            events,
            names,
            has_more: is_full && last.is_some_and(|last| self.is_before_end(last.number)),
            were_some_removed,
        })
    }

    async fn find_start_and_end(&mut self) -> Result<(), StorageError> {
        let Some(start) = self.start else {
            return Ok(());
        };
        let is_end_needed = start == FeedStart::End || matches!(self.until, Until::End);
        let end = if is_end_needed {
            self.feed.last_position().await?
        } else {
            None
        };
        self.after = match start {
            FeedStart::Beginning => None,
            FeedStart::End => end,
            FeedStart::After(position) => Some(position),
        };
        self.removed_through = self.after.map(|_| 0);
        if let Until::End = self.until {
            self.until = Until::Number(end.map_or(0, |end| end.number));
        }
        self.start = None;
        Ok(())
    }

    /// A new event for each attempt, because one with an unknown outcome may have been written.
    fn event(&self) -> AuditEvent {
        let act = self
            .trail
            .sources
            .act(Actor::Administrator, RequestSource::default());
        match self.log.0 {
            LogScope::Organization(organization) => act
                .within(organization)
                .event(Action::ExportAuditLog, Subject::Organization(organization)),
            LogScope::Installation | LogScope::All => {
                act.event(Action::ExportAuditLog, Subject::Installation)
            }
        }
    }

    fn is_before_end(&self, number: u64) -> bool {
        match self.until {
            Until::Never | Until::End => true,
            Until::Number(last) => number < last,
        }
    }

    fn wanted(&self, page: FeedPage) -> Vec<(FeedPosition, AuditEvent)> {
        let is_wanted = |(position, event): &(FeedPosition, AuditEvent)| {
            let is_past_end = matches!(self.until, Until::Number(last) if position.number > last);
            !is_past_end && self.log.has(event) && self.filter.accepts(event)
        };
        page.entries.into_iter().filter(is_wanted).collect()
    }

    /// Names are queried per organization.
    async fn names_in(
        &self,
        events: &[(FeedPosition, AuditEvent)],
    ) -> Result<HashMap<Subject, Named>, StorageError> {
        let mut subjects: HashMap<Option<OrganizationId>, HashSet<Subject>> = HashMap::new();
        for (_, event) in events {
            let own = event.organization_id.map(Subject::Organization);
            let subjects = subjects.entry(event.organization_id).or_default();
            subjects.extend(subjects_of(event).chain(own));
        }
        let mut names = HashMap::new();
        for (organization, subjects) in subjects {
            names.extend(self.trail.names_of(organization, subjects).await?);
        }
        Ok(names)
    }
}

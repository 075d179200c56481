//! The audit log as it grows, for programs that pass it on: every event once, in the order of commits.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::administration::audit_trail::told_of;
use crate::administration::{AuditTrail, Authority};
use crate::audit::{Action, Actor, AuditEvent, RequestSource, Subject};
use crate::id::OrganizationId;
use crate::page::PageSize;
use crate::ports::{AuditFeed, AuditFilter, FeedPage, FeedPosition, ReadFeedError, StorageError};
use crate::user::Username;

/// Whose events are followed. Only whoever runs the server follows any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowedLog(Which);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    Installation,
    Organization(OrganizationId),
    All,
}

/// Where following begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedStart {
    /// With the first event that is kept.
    Beginning,
    /// With what is committed from now on.
    End,
    /// With what came after this.
    After(FeedPosition),
}

/// Events that were read on, and what people call those who are in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowedEvents {
    /// The events in the order of commits, each with where to go on after it.
    pub events: Vec<(FeedPosition, AuditEvent)>,
    /// The names of what the events tell of, as they are now. What is gone has none.
    pub names: HashMap<Subject, String>,
    /// The usernames of the people among these.
    pub usernames: HashMap<Subject, Username>,
    /// Whether there may be more to read at once.
    pub has_more: bool,
    /// Whether events were removed for their age before they were read here, if that was not said before.
    pub were_some_removed: bool,
}

/// The audit log, followed from where it is told to begin. What was read is an event itself, written before the first
/// events are returned.
pub struct AuditFollower {
    feed: Arc<dyn AuditFeed>,
    trail: AuditTrail,
    log: FollowedLog,
    filter: AuditFilter,
    start: Option<FeedStart>,
    after: Option<FeedPosition>,
    until: Until,
    /// The highest number of a removed event of which it was said; nothing before the first events, if it begins with them.
    removed_through: Option<u64>,
    is_recorded: bool,
}

/// Where reading ends.
#[derive(Clone, Copy)]
enum Until {
    /// Nowhere: it follows.
    Never,
    /// At the end of the log, as it is at the first reading.
    End,
    /// At this number.
    Number(u64),
}

impl FollowedLog {
    /// What happened in no organization.
    pub const INSTALLATION: Self = Self(Which::Installation);

    /// What happened in no organization and in every organization.
    pub const ALL: Self = Self(Which::All);

    /// What happened in an organization.
    #[must_use]
    pub const fn of_organization(authority: &Authority) -> Self {
        Self(Which::Organization(authority.organization_id()))
    }

    fn has(self, event: &AuditEvent) -> bool {
        match self.0 {
            Which::Installation => event.organization_id.is_none(),
            Which::Organization(organization) => event.organization_id == Some(organization),
            Which::All => true,
        }
    }
}

impl AuditFollower {
    /// Follows a log from there on, for ever: events that the filter accepts.
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

    /// Reads no further than the log reaches at the first reading.
    #[must_use]
    pub fn to_the_end(self) -> Self {
        Self {
            until: Until::End,
            ..self
        }
    }

    /// Reads on. It may return no events and yet [more](FollowedEvents::has_more): those that it read are then for others.
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
        let (names, usernames) = self.names_in(&events).await?;
        if !self.is_recorded {
            self.trail.record(self.event()).await?;
            self.is_recorded = true;
        }
        self.after = last.or(self.after);
        self.removed_through = Some(removed_through);
        Ok(FollowedEvents {
            events,
            names,
            usernames,
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

    /// Another one at each attempt: one whose outcome is unknown may be in the log already.
    fn event(&self) -> AuditEvent {
        let act = self
            .trail
            .sources
            .act(Actor::Administrator, RequestSource::default());
        match self.log.0 {
            Which::Organization(organization) => act
                .within(organization)
                .event(Action::ExportAuditLog, Subject::Organization(organization)),
            Which::Installation | Which::All => act.event(Action::ExportAuditLog, Subject::Installation),
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

    /// Names belong to an organization, and each is asked for its own.
    async fn names_in(
        &self,
        events: &[(FeedPosition, AuditEvent)],
    ) -> Result<(HashMap<Subject, String>, HashMap<Subject, Username>), StorageError> {
        let mut subjects: HashMap<Option<OrganizationId>, HashSet<Subject>> = HashMap::new();
        for (_, event) in events {
            let own = event.organization_id.map(Subject::Organization);
            let subjects = subjects.entry(event.organization_id).or_default();
            subjects.extend(told_of(event).chain(own));
        }
        let (mut names, mut usernames) = (HashMap::new(), HashMap::new());
        for (organization, subjects) in subjects {
            let (found, found_usernames) = self.trail.names_of(organization, subjects).await?;
            names.extend(found);
            usernames.extend(found_usernames);
        }
        Ok((names, usernames))
    }
}

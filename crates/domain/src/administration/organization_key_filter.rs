//! The filter of an organization's key list, for owners.

use chrono::{DateTime, Utc};

use crate::administration::member_overview::MemberProfile;
use crate::api_key::filter::{StatusFilter, search_term, searched_hint};
use crate::api_key::{ApiKey, LongestLife};
use crate::id::MembershipId;
use crate::membership::Membership;
use crate::text::is_named;
use crate::token::TokenHint;

/// A filter of an organization's keys. Absent parts match all keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrganizationKeyFilter {
    /// Keys of which state.
    pub status: StatusFilter,
    /// Only this consumer's.
    pub consumer: Option<MembershipId>,
    /// The membership state of the keys' holders.
    pub holders: HolderStatusFilter,
    /// Only valid keys that were created before this moment and not used since.
    pub unused_since: Option<DateTime<Utc>>,
    /// Only valid keys whose planned end is before this moment.
    pub expires_before: Option<DateTime<Utc>>,
    /// Only keys of live members that would end earlier if this longest life were applied now.
    pub shortened_by: Option<LongestLife>,
    term: Option<String>,
    name: Option<String>,
    hint: Option<TokenHint>,
}

/// A filter by the holder's membership. Keys of former members give no access, even if they are not revoked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HolderStatusFilter {
    /// Keys of members and of former members.
    #[default]
    All,
    /// Keys of live members.
    Members,
    /// Keys of memberships that have ended.
    FormerMembers,
}

impl HolderStatusFilter {
    /// Whether keys of this membership pass at this moment.
    #[must_use]
    pub fn accepts(self, membership: &Membership, now: DateTime<Utc>) -> bool {
        match self {
            Self::All => true,
            Self::Members => membership.is_live(now),
            Self::FormerMembers => !membership.is_live(now),
        }
    }
}

impl OrganizationKeyFilter {
    /// Keys of which [`ApiKey::search_text`] or the holder's [`User::search_text`] contains the
    /// [term](search_term), and that have the hint, if the term is a whole one. An empty term finds all.
    ///
    /// [`User::search_text`]: crate::user::User::search_text
    #[must_use]
    pub fn new(status: StatusFilter, search: Option<&str>) -> Self {
        Self {
            status,
            term: search.and_then(search_term),
            hint: search.and_then(searched_hint),
            ..Self::default()
        }
    }

    /// Keys in any state with exactly this name, these last four characters or this hint, folded and trimmed.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            status: StatusFilter::All,
            name: search_term(name),
            hint: searched_hint(name),
            ..Self::default()
        }
    }

    /// Restricts the filter to the keys of one consumer.
    #[must_use]
    pub fn of_consumer(self, consumer: MembershipId) -> Self {
        Self {
            consumer: Some(consumer),
            ..self
        }
    }

    /// Restricts the filter by the holder's membership.
    #[must_use]
    pub fn held_by(self, holders: HolderStatusFilter) -> Self {
        Self { holders, ..self }
    }

    /// Restricts the filter to valid keys created before this time and not used since.
    #[must_use]
    pub fn unused_since(self, moment: DateTime<Utc>) -> Self {
        Self {
            unused_since: Some(moment),
            ..self
        }
    }

    /// Restricts the filter to valid keys whose planned end is before this time.
    #[must_use]
    pub fn expiring_before(self, moment: DateTime<Utc>) -> Self {
        Self {
            expires_before: Some(moment),
            ..self
        }
    }

    /// Restricts the filter to the keys that applying this longest life now would change.
    #[must_use]
    pub fn shortened_by(self, longest: LongestLife) -> Self {
        Self {
            shortened_by: Some(longest),
            ..self
        }
    }

    /// A text that one of the two search texts must contain, literally; a store escapes its own wildcards.
    pub fn term(&self) -> Option<&str> {
        self.term.as_deref()
    }

    /// The text that must be the first or last line of [`ApiKey::search_text`].
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The hint that a key must have; its last four characters are the term or name then.
    pub const fn hint(&self) -> Option<&TokenHint> {
        self.hint.as_ref()
    }

    /// Whether a key of this holder passes at this moment.
    #[must_use]
    pub fn accepts(&self, key: &ApiKey, holder: &MemberProfile, now: DateTime<Utc>) -> bool {
        let has_status = self.status.accepts(key, now);
        let is_consumers = self.consumer.is_none_or(|consumer| key.consumer_id == consumer);
        let is_unused = self.unused_since.is_none_or(|since| {
            key.is_valid(now) && key.created_at < since && key.last_use.is_none_or(|last| last.at < since)
        });
        let expires = self
            .expires_before
            .is_none_or(|time| key.expires_at(now).is_some_and(|at| at < time));
        let is_shortened = self.shortened_by.is_none_or(|longest| {
            holder.membership.is_live(now) && key.end_by_longest_life(longest, now).is_some()
        });
        let is_found = self
            .term()
            .is_none_or(|term| key.search_text().contains(term) || holder.user.search_text().contains(term));
        has_status
            && self.name().is_none_or(|name| is_named(&key.search_text(), name))
            && self.hint().is_none_or(|hint| key.hint == *hint)
            && is_consumers
            && self.holders.accepts(&holder.membership, now)
            && is_unused
            && expires
            && is_shortened
            && is_found
    }
}

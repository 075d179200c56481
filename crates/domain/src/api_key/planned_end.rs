//! The planned end of a key.

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    ApiKey, CannotExtendLife, Expiry, ExpiryChange, InvalidExpiry, LongestLife, Revocation, RevocationReason,
};
use crate::audit::Actor;
use crate::id::ApiKeyId;
use crate::validity::{End, SOON, is_soon, planned_end};

impl Revocation {
    /// A revocation that is planned for this time.
    pub(crate) const fn planned(at: DateTime<Utc>, by: Actor, reason: RevocationReason) -> Self {
        Self {
            end: End::Planned(at),
            by,
            reason,
            note: None,
        }
    }
}

impl ApiKey {
    /// How long before its planned end a key [expires soon](Self::expires_soon).
    pub const EXPIRES_SOON: TimeDelta = SOON;

    /// The planned end of a valid key; none for a revoked one.
    #[must_use]
    pub fn expires_at(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        planned_end(self.end(), now)
    }

    /// Whether the key is valid, and its planned end is at most seven days ahead.
    #[must_use]
    pub fn expires_soon(&self, now: DateTime<Utc>) -> bool {
        is_soon(self.expires_at(now), now)
    }

    /// The latest planned end that any actor but the key itself may set. `None` if any end may be set, and
    /// the end may be removed.
    #[must_use]
    pub fn latest_planned_end(
        &self,
        live_successor: Option<ApiKeyId>,
        longest: Option<LongestLife>,
    ) -> Option<DateTime<Utc>> {
        let end = self.end()?.at();
        if live_successor.is_some() {
            return Some(end);
        }
        longest.map(|longest| end.max(longest.end_of_key_created(self.created_at)))
    }

    /// Changes the planned end of a valid key; returns whether it differed. The end of a key with a live
    /// successor may only be brought forward, and no end may be postponed beyond the longest life. A key
    /// without an end may get any, because that shortens its life. A recorded end cannot be changed.
    pub(super) fn replan(
        &mut self,
        change: ExpiryChange,
        live_successor: Option<ApiKeyId>,
        longest: Option<LongestLife>,
        by: Actor,
    ) -> Result<bool, CannotExtendLife> {
        let reason = match &self.revocation {
            // No key takes its place any more, so its end is like that of any other.
            _ if live_successor.is_none() && self.ends_by_rotation() => RevocationReason::Expired,
            Some(revocation) => revocation.reason,
            None => RevocationReason::Expired,
        };
        let (before, after) = (self.end().map(End::at), change.expiry().map(Expiry::at));
        if before == after || matches!(self.end(), Some(End::Come(_))) {
            return Ok(false);
        }
        let lives_longer = before.is_some_and(|before| after.is_none_or(|after| after > before));
        if lives_longer && live_successor.is_some() {
            return Err(CannotExtendLife::OfRotatedKey);
        }
        if lives_longer && by.api_key() == Some(self.id) {
            return Err(CannotExtendLife::OfItself);
        }
        if let Some(longest) = longest.filter(|_| lives_longer && self.would_exceed(after, longest)) {
            return Err(CannotExtendLife::BeyondLongestLife(longest));
        }
        self.revocation = after.map(|at| Revocation::planned(at, by, reason));
        Ok(true)
    }
}

impl LongestLife {
    /// When a key that exists ends at the latest, if its owners apply this longest life to it now: they
    /// postpone no end, and the users of the key have at least [`ApiKey::EXPIRES_SOON`] notice.
    #[must_use]
    pub fn end_of_existing_key(self, created_at: DateTime<Utc>, now: DateTime<Utc>) -> DateTime<Utc> {
        self.end_of_key_created(created_at)
            .max(now + ApiKey::EXPIRES_SOON)
    }
}

impl ApiKey {
    /// The end that a valid key gets if a longest life is applied to it now; nothing if it ends by then
    /// anyway.
    #[must_use]
    pub fn end_by_longest_life(&self, longest: LongestLife, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let latest = longest.end_of_existing_key(self.created_at, now);
        let lives_longer = self.end().is_none_or(|end| end.at() > latest);
        (self.is_valid(now) && lives_longer).then_some(latest)
    }

    /// Limits the life of a key that is about to be stored: without a planned end, it gets the latest one.
    ///
    /// # Errors
    /// It was asked to live longer.
    pub fn limit_life(&mut self, longest: Option<LongestLife>) -> Result<(), InvalidExpiry> {
        if self.exceeds(longest)
            && let Some(longest) = longest
        {
            if self.end().is_some() {
                return Err(InvalidExpiry::LongerThanAllowed(longest));
            }
            self.end_with(longest, self.origin.actor());
        }
        Ok(())
    }

    /// Limits the life of a successor that was not asked to live until a certain moment.
    pub(super) fn limit_inherited_life(&mut self, longest: Option<LongestLife>, by: Actor) {
        if self.exceeds(longest)
            && let Some(longest) = longest
        {
            self.end_with(longest, by);
        }
    }

    /// Whether the key would live longer with this end, or without one, than owners allow.
    pub(super) fn would_exceed(&self, end: Option<DateTime<Utc>>, longest: Option<LongestLife>) -> bool {
        let latest = longest.map(|longest| longest.end_of_key_created(self.created_at));
        latest.is_some_and(|latest| end.is_none_or(|end| end > latest))
    }

    fn exceeds(&self, longest: Option<LongestLife>) -> bool {
        self.would_exceed(self.end().map(End::at), longest)
    }

    fn end_with(&mut self, longest: LongestLife, by: Actor) {
        let latest = longest.end_of_key_created(self.created_at);
        self.revocation = Some(Revocation::planned(latest, by, RevocationReason::Expired));
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta, Utc};

    use crate::api_key::{
        ApiKey, CannotExtendLife, ChangeOfKey, Expiry, ExpiryChange, KeyEdit, LongestLife, RevocationReason,
    };
    use crate::audit::Actor;
    use crate::membership::Role;
    use crate::testing::TestInstallation;
    use crate::validity::End;

    fn now() -> DateTime<Utc> {
        "2026-01-01T00:00:00Z".parse().unwrap()
    }

    fn in_days(days: i64) -> Expiry {
        Expiry::new(now() + TimeDelta::days(days), now()).unwrap()
    }

    fn key() -> ApiKey {
        let installation = TestInstallation::new();
        let organization = installation.organization("Acme");
        let ada = installation.member(&organization, "ada", Role::Owner);
        installation.builder.new_key(&ada.as_holder(), "deploy").0.key
    }

    fn set(expiry: Option<Expiry>) -> KeyEdit {
        KeyEdit {
            expiry: Some(expiry.map_or(ExpiryChange::Remove, ExpiryChange::Set)),
            ..KeyEdit::default()
        }
    }

    #[test]
    fn planned_end_can_be_set_moved_and_removed() {
        let (mut key, by) = (key(), Actor::Administrator);
        for expiry in [Some(in_days(30)), Some(in_days(60)), Some(in_days(1)), None] {
            let version = key.version();
            let (before, after) = (key.expires_at(now()), expiry.map(Expiry::at));
            let changed = ChangeOfKey::Expiry { before, after };
            assert_eq!(key.apply(&set(expiry), None, None, by), Ok(vec![changed]));
            assert_ne!(key.version(), version);
            assert_eq!(key.expires_at(now()), expiry.map(Expiry::at));
            assert_eq!(key.end(), expiry.map(|expiry| End::Planned(expiry.at())));
            assert!(key.revocation.iter().all(|planned| planned.by == by
                && planned.reason == RevocationReason::Expired
                && planned.note.is_none()));
            assert_eq!(
                key.apply(&set(expiry), None, None, Actor::System),
                Ok(vec![]),
                "again"
            );
            assert!(key.revocation.iter().all(|planned| planned.by == by));
        }
    }

    #[test]
    fn key_cannot_postpone_or_remove_its_own_planned_end() {
        let mut key = key();
        let itself = Actor::ApiKey(key.id);
        key.apply(&set(Some(in_days(30))), None, None, itself).unwrap();
        let before = key.clone();
        for longer in [Some(in_days(31)), None] {
            assert_eq!(
                key.apply(&set(longer), None, None, itself),
                Err(CannotExtendLife::OfItself)
            );
            assert_eq!(key, before);
        }
        assert_eq!(key.apply(&set(Some(in_days(30))), None, None, itself), Ok(vec![]));
        let sooner = key.apply(&set(Some(in_days(29))), None, None, itself).unwrap();
        assert!(matches!(sooner[..], [ChangeOfKey::Expiry { .. }]), "{sooner:?}");
    }

    #[test]
    fn no_end_after_the_latest_planned_one_is_accepted() {
        let successor = Some(key().id);
        let longest = LongestLife::of_days(30).ok();
        for (end, live_successor, longest) in [
            (None, None, longest),
            (None, successor, longest),
            (Some(10), None, None),
            (Some(10), None, longest),
            (Some(40), None, longest),
            (Some(10), successor, None),
            (Some(10), successor, longest),
        ] {
            let mut key = key();
            key.created_at = now();
            key.apply(&set(end.map(in_days)), None, None, Actor::Administrator)
                .unwrap();
            let latest = key.latest_planned_end(live_successor, longest);
            for wanted in [Some(1), Some(10), Some(11), Some(30), Some(31), Some(41), None] {
                let wanted = wanted.map(in_days);
                let is_too_late =
                    latest.is_some_and(|latest| wanted.is_none_or(|wanted| wanted.at() > latest));
                let changed = key
                    .clone()
                    .apply(&set(wanted), live_successor, longest, Actor::Administrator);
                assert_eq!(
                    changed.is_err(),
                    is_too_late,
                    "{end:?} {live_successor:?} {longest:?} {wanted:?}"
                );
            }
        }
    }

    #[test]
    fn edit_changes_no_recorded_end() {
        let mut key = key();
        key.apply(&set(Some(in_days(30))), None, None, Actor::Administrator)
            .unwrap();
        key.revocation.as_mut().unwrap().end = End::Come(now());
        let revoked = key.clone();
        for change in [Some(in_days(60)), Some(in_days(1)), None] {
            assert_eq!(key.apply(&set(change), None, None, Actor::System), Ok(vec![]));
            assert_eq!(key, revoked);
        }
    }

    #[test]
    fn longest_life_shortens_with_seven_days_notice() {
        let longest = LongestLife::of_days(30).unwrap();
        let (ended, kept) = (Some, None);
        for (age, end, expected) in [
            (0, None, ended(30)),
            (10, None, ended(20)),
            (23, None, ended(7)),
            (24, None, ended(7)),
            (400, None, ended(7)),
            (10, Some(21), ended(20)),
            (10, Some(20), kept),
            (400, Some(8), ended(7)),
            (400, Some(7), kept),
            (400, Some(1), kept),
        ] {
            let mut key = key();
            key.created_at = now() - TimeDelta::days(age);
            key.apply(&set(end.map(in_days)), None, None, Actor::Administrator)
                .unwrap();
            let shortened = key.end_by_longest_life(longest, now());
            assert_eq!(
                shortened,
                expected.map(|days| in_days(days).at()),
                "{age} {end:?}"
            );
        }
        let mut over = key();
        over.apply(&set(Some(in_days(40))), None, None, Actor::Administrator)
            .unwrap();
        assert_eq!(over.end_by_longest_life(longest, in_days(40).at()), None);
    }

    #[test]
    fn key_expires_soon_within_seven_days() {
        let mut key = key();
        assert!(!key.expires_soon(now()));
        key.apply(&set(Some(in_days(30))), None, None, Actor::Administrator)
            .unwrap();
        let end = in_days(30).at();
        let before = |duration| key.expires_soon(end - duration);
        assert!(!before(TimeDelta::days(7) + TimeDelta::milliseconds(1)));
        assert!(before(TimeDelta::days(7)));
        assert!(before(TimeDelta::milliseconds(1)));
        assert!(!before(TimeDelta::zero()));
    }
}

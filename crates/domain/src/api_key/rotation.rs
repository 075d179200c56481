//! Rotation: a key gets a successor in its place, and an end.

use chrono::{DateTime, TimeDelta, Utc};

use super::{ApiKey, CannotExtendLife, Expiry, InvalidExpiry, LongestLife, Revocation, RevocationReason};
use crate::audit::{Act, Action, Actor, AuditEvent, Subject};
use crate::id::{ApiKeyId, MembershipId, OrganizationId};
use crate::idempotency_key::{IdempotencyKey, RequestDigest};
use crate::token::{TokenDigest, TokenHint};
use crate::validity::End;

/// When a rotated key ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldKeyEnd {
    /// At the time of the rotation.
    AtOnce,
    /// Some time after it, so that the users of the key can get its successor.
    After(Grace),
    /// Once the successor was used, within two minutes. Requires that last uses are recorded and
    /// [`PlannedEnds`](crate::planned_ends::PlannedEnds) runs; otherwise the key does not end.
    OnFirstUse,
}

impl Default for OldKeyEnd {
    /// A day after the rotation.
    fn default() -> Self {
        Self::After(Grace::default())
    }
}

/// For how long a rotated key stays valid: whole seconds, at least one and at most seven days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grace(TimeDelta);

/// Not a grace that a rotated key can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be from 1 to {} seconds", Grace::MAX.0.num_seconds())]
pub struct InvalidGrace;

impl Grace {
    /// The longest: seven days.
    pub const MAX: Self = Self(TimeDelta::days(7));

    /// Reads a number of seconds.
    ///
    /// # Errors
    /// It is less than 1, or more than [`Grace::MAX`].
    pub fn from_seconds(seconds: i64) -> Result<Self, InvalidGrace> {
        if (1..=Self::MAX.0.num_seconds()).contains(&seconds) {
            Ok(Self(TimeDelta::seconds(seconds)))
        } else {
            Err(InvalidGrace)
        }
    }
}

impl Default for Grace {
    /// One day.
    fn default() -> Self {
        Self(TimeDelta::days(1))
    }
}

/// The input for a rotation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RotationDraft {
    /// When the old key ends.
    pub old_key_ends: OldKeyEnd,
    /// The planned end of the successor; `None` for that of the old key, if it has one.
    pub expiry: Option<Expiry>,
}

impl RotationDraft {
    /// A digest of the request, by which a repeated request is recognized. It is compared with those that
    /// other versions stored, so a field that is added later may only count if it is given.
    #[must_use]
    pub fn request_digest(self, key: ApiKeyId) -> RequestDigest {
        let (end, seconds) = match self.old_key_ends {
            OldKeyEnd::AtOnce => ("at_once", None),
            OldKeyEnd::After(Grace(time)) => ("after_grace", Some(time.num_seconds().to_string())),
            OldKeyEnd::OnFirstUse => ("on_first_use", None),
        };
        let expiry = self
            .expiry
            .map(|expiry| expiry.at().timestamp_millis().to_string());
        RequestDigest::of(
            "rotateApiKey",
            &[
                &key.to_string(),
                end,
                seconds.as_deref().unwrap_or_default(),
                expiry.as_deref().unwrap_or_default(),
            ],
        )
    }
}

/// A rotation that is about to be stored.
#[derive(Debug, Clone)]
pub struct NewRotation {
    /// The consumer of both keys.
    pub consumer_id: MembershipId,
    /// The key to rotate.
    pub old_key: ApiKeyId,
    /// The identifier of its successor.
    pub successor: ApiKeyId,
    /// Shown to people in place of the successor's token.
    pub hint: TokenHint,
    /// The digest of the successor's token; unique among all keys.
    pub digest: TokenDigest,
    /// The input for the rotation.
    pub draft: RotationDraft,
    /// The single use of the console form or the request that asks for it, if it has one.
    pub idempotency_key: Option<IdempotencyKey>,
}

/// Why a key has no rotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotRotated {
    /// It was rotated before, to this key, which is valid.
    AlreadyRotated(ApiKeyId),
    /// It is revoked.
    Revoked,
    /// The planned end of its successor has passed, or is too late.
    InvalidExpiry(InvalidExpiry),
    /// The key asks for a successor that lives longer than itself.
    CannotExtendLife(CannotExtendLife),
}

impl ApiKey {
    /// The successor, while it is valid. `stored` is the key that [`ApiKey::rotated_to`] names, as it is
    /// stored; `None` if it was purged. A successor that has ended counts as none, because it cannot be used
    /// any more.
    #[must_use]
    pub fn live_successor(&self, stored: Option<&Self>, now: DateTime<Utc>) -> Option<ApiKeyId> {
        let id = self.rotated_to?;
        let is_live = stored.is_some_and(|successor| successor.id == id && successor.is_valid(now));
        is_live.then_some(id)
    }

    /// Rotates the key at the moment of the act: its successor has the same texts, origin and rights, and its
    /// planned end unless another one is asked for, or the longest life that owners allow ends before. An end that an earlier rotation planned is not passed on. Returns the successor.
    ///
    /// A key has one [live successor](Self::live_successor). Once that has ended, it may be rotated again.
    ///
    /// A successor is in the old key's place in the key tree if a person made it, and below the key that made
    /// it otherwise: revoking a stolen key and its descendants revokes everything that was made with it.
    ///
    /// # Errors
    /// Nothing is changed then.
    pub fn rotate(
        &mut self,
        new: &NewRotation,
        live_successor: Option<ApiKeyId>,
        longest: Option<LongestLife>,
        act: &Act,
    ) -> Result<Self, NotRotated> {
        if let Some(successor) = live_successor {
            return Err(NotRotated::AlreadyRotated(successor));
        }
        if !self.is_valid(act.at) {
            return Err(NotRotated::Revoked);
        }
        let mut successor = Self {
            id: new.successor,
            hint: new.hint.clone(),
            created_at: act.at,
            last_use: None,
            rotated_from: Some(self.id),
            rotated_to: None,
            adoptive_parent_id: act.actor.api_key().or(self.adoptive_parent_id),
            revocation: self.revocation.clone().filter(|_| !self.ends_by_rotation()),
            ..self.clone()
        };
        if let Some(expiry) = new.draft.expiry {
            expiry.check(act.at).map_err(NotRotated::InvalidExpiry)?;
            let outlives = successor.end().is_some_and(|end| expiry.at() > end.at());
            if outlives && act.actor.api_key() == Some(self.id) {
                return Err(NotRotated::CannotExtendLife(CannotExtendLife::OfItself));
            }
            successor.revocation = Some(Revocation::planned(
                expiry.at(),
                act.actor,
                RevocationReason::Expired,
            ));
            successor.limit_life(longest).map_err(NotRotated::InvalidExpiry)?;
        } else {
            successor.limit_inherited_life(longest, act.actor);
        }
        self.rotated_to = Some(successor.id);
        match new.draft.old_key_ends {
            OldKeyEnd::AtOnce => self.revocation = Some(Revocation::by_rotation(act.at, act.actor)),
            OldKeyEnd::After(Grace(time)) => self.end_by(act.at + time, act.actor),
            OldKeyEnd::OnFirstUse => self.keep_end_as_expiry(),
        }
        Ok(successor)
    }

    /// The key ends on the first use of its successor, or at the end that an earlier rotation planned, if that
    /// comes before: such an end is now one like any other.
    fn keep_end_as_expiry(&mut self) {
        if let Some(planned) = &mut self.revocation
            && planned.reason == RevocationReason::Rotation
        {
            planned.reason = RevocationReason::Expired;
        }
    }

    fn end_by(&mut self, at: DateTime<Utc>, by: Actor) {
        let at = self.end().map_or(at, |end| end.at().min(at));
        self.revocation = Some(Revocation::planned(at, by, RevocationReason::Rotation));
    }

    /// How many of the valid keys of a chain count for [`ApiKey::MAX_TREE_DEPTH`]. The successor of a key that
    /// rotated itself is below that key: until this one ends, they count as one, or the successor could create
    /// fewer generations of keys than the key that it replaces.
    #[must_use]
    pub fn depth_of<'a>(valid: impl Iterator<Item = &'a Self> + Clone) -> usize {
        let is_valid = |id| valid.clone().any(|key| key.id == id);
        let counted = valid.clone().filter(|key| !key.rotated_to.is_some_and(is_valid));
        counted.count()
    }

    /// Whether the key ends once its successor was used, while that is valid.
    #[must_use]
    pub fn ends_on_first_use(&self) -> bool {
        let has_ended = matches!(self.end(), Some(End::Come(_)));
        self.rotated_to.is_some() && !has_ended && !self.ends_by_rotation()
    }

    /// Whether a rotation planned its end, or ended it.
    pub(super) fn ends_by_rotation(&self) -> bool {
        let revocation = self.revocation.as_ref();
        revocation.is_some_and(|revocation| revocation.reason == RevocationReason::Rotation)
    }
}

impl Revocation {
    /// The end of a key because it has a successor.
    #[must_use]
    pub const fn by_rotation(at: DateTime<Utc>, by: Actor) -> Self {
        Self {
            end: End::Come(at),
            by,
            reason: RevocationReason::Rotation,
            note: None,
        }
    }
}

impl Act {
    /// The event that the system ends a rotated key because its successor was used.
    #[must_use]
    pub fn end_of_rotated_key(&self, organization: OrganizationId, id: ApiKeyId) -> AuditEvent {
        self.of_system(organization)
            .event(Action::RevokeApiKey, Subject::ApiKey(id))
    }

    /// The events of a rotation, for the old key as it is after it: the successor's creation, the rotation,
    /// and the end of the old key if that came with it.
    #[must_use]
    pub fn rotation_of_key(&self, old: &ApiKey, successor: &ApiKey) -> Vec<AuditEvent> {
        let [old_key, new_key] = [old.id, successor.id].map(Subject::ApiKey);
        let end = old
            .revoked(self.at)
            .map(|_| self.event(Action::RevokeApiKey, old_key));
        let events = [
            self.creation_of_key(successor),
            self.event_with(Action::RotateApiKey, old_key, new_key),
        ];
        events.into_iter().chain(end).collect()
    }
}

//! Validity at a given time: the only place that defines it in SQL.
//!
//! An end has a time (`revoked_at`, `ended_at`), which may lie in the future. `end_came_at` is set when the
//! end is recorded as past: at once, if the act took effect at once, else when its planned end has come. From
//! then on it is past by every clock. Rows without an end, or with a planned one that is not recorded, have
//! no `end_came_at` and are in the partial indexes: queries use these, and then exclude the few rows whose
//! planned end is past.

use chrono::{DateTime, Utc};
use diesel::dsl::{auto_type, sql};
use diesel::expression::SqlLiteral;
use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, NullableExpressionMethods, Queryable};
use diesel::sql_types::Bool;
use keyward_domain::api_key::{LongestLife, RevocationReason};
use keyward_domain::membership::Role;
use keyward_domain::ports::StorageError;
use keyward_domain::validity::End;

use super::dialect::created_and_later;
use super::schema::{api_keys, memberships};
use crate::columns::StoredMoment;
use crate::stored_row::StoredRow;

/// The condition that a key is valid.
#[auto_type]
pub(crate) fn key_is_valid(now: StoredMoment) -> _ {
    let has_no_end = api_keys::revoked_at.is_null();
    let end_is_ahead = api_keys::revoked_at.gt(now).assume_not_null();
    api_keys::end_came_at.is_null().and(has_no_end.or(end_is_ahead))
}

/// The condition that a key is valid, for an alias of the table of keys.
macro_rules! aliased_key_is_valid {
    ($keys:ident, $now:expr) => {{
        let now: $crate::columns::StoredMoment = $now.into();
        let has_no_end = $keys.field(api_keys::revoked_at).is_null();
        let end_is_ahead = $keys.field(api_keys::revoked_at).gt(now).assume_not_null();
        $keys
            .field(api_keys::end_came_at)
            .is_null()
            .and(has_no_end.or(end_is_ahead))
    }};
}
pub(crate) use aliased_key_is_valid;

/// The condition that a key is revoked.
#[auto_type]
pub(crate) fn key_is_revoked(now: StoredMoment) -> _ {
    let has_come = api_keys::revoked_at.le(now).assume_not_null();
    api_keys::end_came_at.is_not_null().or(has_come)
}

/// The condition that a key is valid and its planned end is before a time.
#[auto_type]
pub(crate) fn key_expires_before(time: StoredMoment, now: StoredMoment) -> _ {
    let is_ahead = api_keys::revoked_at.gt(now).assume_not_null();
    let is_before = api_keys::revoked_at.lt(time).assume_not_null();
    api_keys::end_came_at
        .is_null()
        .and(api_keys::revoked_at.is_not_null())
        .and(is_ahead.and(is_before))
}

/// The condition that a valid key lives longer than this after its creation, or has no planned end.
pub(crate) fn key_outlives(longest: LongestLife) -> SqlLiteral<Bool> {
    let latest = created_and_later(longest);
    sql(&format!(
        "(api_keys.revoked_at IS NULL OR api_keys.revoked_at > {latest})"
    ))
}

/// The condition that a key's planned end is past and not recorded: it is due.
#[auto_type]
pub(crate) fn key_is_due(now: StoredMoment) -> _ {
    let is_planned = api_keys::end_came_at
        .is_null()
        .and(api_keys::revoked_at.is_not_null());
    is_planned.and(api_keys::revoked_at.le(now).assume_not_null())
}

/// The condition that a key is valid and ends once its successor was used, while that is valid.
#[auto_type]
pub(crate) fn key_ends_on_first_use(now: StoredMoment) -> _ {
    let rotation: &'static str = RevocationReason::Rotation.as_str();
    let has_no_end = api_keys::revoked_reason.is_null();
    let ends_otherwise = api_keys::revoked_reason.ne(rotation).assume_not_null();
    let is_rotated = api_keys::rotated_to_key_id.is_not_null();
    let is_valid: key_is_valid = key_is_valid(now);
    is_valid.and(is_rotated).and(has_no_end.or(ends_otherwise))
}

/// The condition that a key has an end, past or planned, for the index of an organization's keys. For the
/// keys of one consumer it is not used: PostgreSQL would expect few rows and read that whole index besides.
#[auto_type]
pub(crate) fn key_has_end() -> _ {
    api_keys::revoked_at.is_not_null()
}

/// The condition that a membership is live.
#[auto_type]
pub(crate) fn membership_is_live(now: StoredMoment) -> _ {
    let has_no_end = memberships::ended_at.is_null();
    let end_is_ahead = memberships::ended_at.gt(now).assume_not_null();
    memberships::end_came_at
        .is_null()
        .and(has_no_end.or(end_is_ahead))
}

/// The condition that a membership is that of an owner and has no end, not even a planned one.
#[auto_type]
pub(crate) fn is_permanent_owner() -> _ {
    let owner: &'static str = Role::Owner.as_str();
    let has_no_end = memberships::end_came_at
        .is_null()
        .and(memberships::ended_at.is_null());
    memberships::role.eq(owner).and(has_no_end)
}

/// The condition that a membership has ended.
#[auto_type]
pub(crate) fn membership_is_over(now: StoredMoment) -> _ {
    let has_come = memberships::ended_at.le(now).assume_not_null();
    memberships::end_came_at.is_not_null().or(has_come)
}

/// The condition that a membership's planned end is past and not recorded: it is due.
#[auto_type]
pub(crate) fn membership_is_due(now: StoredMoment) -> _ {
    let is_planned = memberships::end_came_at
        .is_null()
        .and(memberships::ended_at.is_not_null());
    is_planned.and(memberships::ended_at.le(now).assume_not_null())
}

/// A time before all ends. Evaluated at it, the conditions for valid and live hold for all rows that are not
/// recorded as ended.
pub(crate) const BEFORE_ALL_ENDS: DateTime<Utc> = DateTime::UNIX_EPOCH;

/// The same condition as text, for raw SQL: `row` is the table or alias, `end` the column with the end's
/// time, and `now` the parameter with the time to evaluate at.
pub(crate) fn not_over(row: &str, end: &str, now: &str) -> String {
    format!("{row}.end_came_at IS NULL AND ({row}.{end} IS NULL OR {row}.{end} > {now})")
}

/// The columns of an end: its time, then `end_came_at`.
#[derive(Clone, Copy, Default, Queryable)]
pub(crate) struct StoredEnd {
    pub(crate) at: Option<StoredMoment>,
    pub(crate) came_at: Option<StoredMoment>,
}

impl StoredEnd {
    /// The end stored in a row; `column` is named in errors.
    pub(crate) fn read(self, stored: &StoredRow, column: &'static str) -> Result<Option<End>, StorageError> {
        let at = stored.moment_if_any(column, self.at)?;
        if at.is_none() {
            stored.nothing_unless::<()>(column, self.came_at.is_some())?;
        }
        Ok(at.map(match self.came_at {
            Some(_) => End::Come,
            None => End::Planned,
        }))
    }

    /// Whether it was planned, is past, and is not recorded.
    pub(crate) fn is_due(self, now: DateTime<Utc>) -> bool {
        self.came_at.is_none() && self.has_come(now)
    }

    /// Whether the end is past, without parsing the rest of the row.
    pub(crate) fn has_come(self, now: DateTime<Utc>) -> bool {
        let Some(at) = self.at else {
            return false;
        };
        self.came_at.is_some() || at.0.is_ok_and(|at| End::Planned(at).has_come(now))
    }
}

impl From<Option<End>> for StoredEnd {
    fn from(end: Option<End>) -> Self {
        Self {
            at: end.map(|end| end.at().into()),
            came_at: end.and_then(|end| match end {
                End::Planned(_) => None,
                End::Come(at) => Some(at.into()),
            }),
        }
    }
}

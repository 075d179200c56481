//! What is valid at a moment: the one place that says it in SQL.
//!
//! An end is a moment (`revoked_at`, `ended_at`), which may lie ahead, and whether it has come whatever a clock says
//! (`end_came_at`): somebody ended it there and then. What has no end or a planned one has no `end_came_at`, and the partial
//! indexes hold it: so a query finds them by that, and of these few a planned one that has come by now is no match.

use chrono::{DateTime, Utc};
use diesel::dsl::auto_type;
use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, NullableExpressionMethods};
use keyward_domain::ports::StorageError;
use keyward_domain::validity::End;

use super::schema::{api_keys, memberships};
use crate::columns::StoredMoment;
use crate::stored_row::StoredRow;

/// That a key is valid.
#[auto_type]
pub(crate) fn key_is_valid(now: StoredMoment) -> _ {
    let has_no_end = api_keys::revoked_at.is_null();
    let end_is_ahead = api_keys::revoked_at.gt(now).assume_not_null();
    api_keys::end_came_at.is_null().and(has_no_end.or(end_is_ahead))
}

/// That a key is revoked.
#[auto_type]
pub(crate) fn key_is_revoked(now: StoredMoment) -> _ {
    let has_come = api_keys::revoked_at.le(now).assume_not_null();
    api_keys::end_came_at.is_not_null().or(has_come)
}

/// That a key has an end, be it ahead: an index of an organization's keys holds these. Said of the keys of one consumer, too,
/// PostgreSQL would expect few, and read that whole index besides.
#[auto_type]
pub(crate) fn key_has_end() -> _ {
    api_keys::revoked_at.is_not_null()
}

/// That a membership is live.
#[auto_type]
pub(crate) fn membership_is_live(now: StoredMoment) -> _ {
    let has_no_end = memberships::ended_at.is_null();
    let end_is_ahead = memberships::ended_at.gt(now).assume_not_null();
    memberships::end_came_at
        .is_null()
        .and(has_no_end.or(end_is_ahead))
}

/// That a membership is over.
#[auto_type]
pub(crate) fn membership_is_over(now: StoredMoment) -> _ {
    let has_come = memberships::ended_at.le(now).assume_not_null();
    memberships::end_came_at.is_not_null().or(has_come)
}

/// The same in words, for a query that is one text: that a row which it calls so is valid or live, of which `end` is the
/// column with the end's moment; `now` is where the query has the moment that it asks about.
pub(crate) fn not_over(row: &str, end: &str, now: &str) -> String {
    format!("{row}.end_came_at IS NULL AND ({row}.{end} IS NULL OR {row}.{end} > {now})")
}

/// The columns of an end.
#[derive(Clone, Copy)]
pub(crate) struct StoredEnd {
    pub(crate) at: Option<StoredMoment>,
    pub(crate) came_at: Option<StoredMoment>,
}

impl StoredEnd {
    /// The end that a row tells of, in a column of this name.
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

    /// Whether it has come, whatever else the row says.
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

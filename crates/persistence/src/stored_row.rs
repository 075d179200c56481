//! Converts stored rows; a value that violates a rule of the domain is reported with table, column and
//! identifier.

use std::fmt::Display;

use chrono::{DateTime, Utc};
use keyward_domain::audit::InvalidReference;
use keyward_domain::ports::StorageError;
use uuid::Uuid;

use crate::columns::StoredMoment;

/// A row, identified for error messages.
pub(crate) struct StoredRow<I = Uuid> {
    table: &'static str,
    id: I,
}

impl<I: Display> StoredRow<I> {
    pub(crate) const fn new(table: &'static str, id: I) -> Self {
        Self { table, id }
    }

    /// Unwraps a parsed column; otherwise returns [`StorageError::Corrupt`].
    pub(crate) fn read<T, E: Display>(
        &self,
        column: &'static str,
        value: Result<T, E>,
    ) -> Result<T, StorageError> {
        value.map_err(|problem| self.corrupt(column, problem.to_string()))
    }

    /// A column's timestamp.
    pub(crate) fn moment(
        &self,
        column: &'static str,
        moment: StoredMoment,
    ) -> Result<DateTime<Utc>, StorageError> {
        self.read(column, moment.0)
    }

    /// A nullable column's timestamp.
    pub(crate) fn moment_if_any(
        &self,
        column: &'static str,
        moment: Option<StoredMoment>,
    ) -> Result<Option<DateTime<Utc>>, StorageError> {
        moment.map(|moment| self.moment(column, moment)).transpose()
    }

    /// A column's enum value, parsed from its word.
    pub(crate) fn word<T>(&self, column: &'static str, word: Option<T>) -> Result<T, StorageError> {
        word.ok_or_else(|| self.corrupt(column, "an unknown word".to_owned()))
    }

    /// A nullable column that another column requires to be set.
    pub(crate) fn present<T>(&self, column: &'static str, value: Option<T>) -> Result<T, StorageError> {
        value.ok_or_else(|| self.corrupt(column, "missing".to_owned()))
    }

    /// An actor or a subject, stored as kind and identifier.
    pub(crate) fn reference<T>(
        &self,
        from_kind: fn(&str, Option<Uuid>) -> Result<T, InvalidReference>,
        (kind_column, kind): (&'static str, &str),
        (id_column, id): (&'static str, Option<Uuid>),
    ) -> Result<T, StorageError> {
        from_kind(kind, id).map_err(|error| {
            let column = match error {
                InvalidReference::UnknownKind => kind_column,
                InvalidReference::MissingId => id_column,
            };
            self.corrupt(column, error.to_string())
        })
    }

    /// Checks that the columns that depend on an absent value are null too.
    pub(crate) fn nothing_unless<T>(
        &self,
        column: &'static str,
        needed: bool,
    ) -> Result<Option<T>, StorageError> {
        if needed {
            Err(self.corrupt(column, "missing".to_owned()))
        } else {
            Ok(None)
        }
    }

    pub(crate) fn corrupt(&self, column: &'static str, problem: String) -> StorageError {
        StorageError::Corrupt {
            table: self.table,
            column,
            id: self.id.to_string(),
            problem,
        }
    }
}

/// The result of a COUNT subquery, which diesel types as nullable although it never is null.
pub(crate) fn count_or_zero(count: Option<i64>) -> u32 {
    u32::try_from(count.unwrap_or(0)).unwrap_or(u32::MAX)
}

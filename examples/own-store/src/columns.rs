//! Reads stored values through the domain's own checks. A row that breaks a rule is reported, and never used.

use std::fmt::Display;

use chrono::{DateTime, Utc};
use keyward_domain::audit::{Actor, Subject};
use keyward_domain::ports::StorageError;
use keyward_domain::validity::End;
use uuid::Uuid;

use crate::tables::{EndRow, Reference};

/// The row that is being read.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) table: &'static str,
    pub(crate) id: Uuid,
}

impl Row {
    /// The value that was read, unless it breaks a rule. The error must not quote the value.
    pub(crate) fn valid<T, E: Display>(
        self,
        column: &'static str,
        value: Result<T, E>,
    ) -> Result<T, StorageError> {
        value.map_err(|problem| StorageError::Corrupt {
            table: self.table,
            column,
            id: self.id.to_string(),
            problem: problem.to_string(),
        })
    }

    /// The value of a stored word, or of a word with an identifier.
    pub(crate) fn known<T>(self, column: &'static str, value: Option<T>) -> Result<T, StorageError> {
        self.valid(column, value.ok_or("nothing that is known"))
    }

    pub(crate) fn moment(self, column: &'static str, millis: i64) -> Result<DateTime<Utc>, StorageError> {
        let moment = DateTime::from_timestamp_millis(millis);
        self.valid(column, moment.ok_or("not a moment"))
    }

    pub(crate) fn end(self, column: &'static str, end: Option<EndRow>) -> Result<Option<End>, StorageError> {
        let end = end.map(|(millis, came)| {
            let at = self.moment(column, millis)?;
            Ok(if came { End::Come(at) } else { End::Planned(at) })
        });
        end.transpose()
    }

    pub(crate) fn actor(
        self,
        column: &'static str,
        (kind, id): Reference<'_>,
    ) -> Result<Actor, StorageError> {
        let actor = Actor::from_kind(kind, id).ok();
        self.known(column, actor.filter(|actor| actor.id() == id))
    }

    pub(crate) fn subject(
        self,
        column: &'static str,
        (kind, id): Reference<'_>,
    ) -> Result<Subject, StorageError> {
        let subject = Subject::from_kind(kind, id).ok();
        self.known(column, subject.filter(|subject| subject.id() == id))
    }
}

/// An end as a row has it.
pub(crate) const fn end_row(end: End) -> EndRow {
    let came = match end {
        End::Planned(_) => false,
        End::Come(_) => true,
    };
    (end.at().timestamp_millis(), came)
}

pub(crate) const fn actor_reference(actor: Actor) -> Reference<'static> {
    (actor.kind(), actor.id())
}

pub(crate) const fn subject_reference(subject: &Subject) -> Reference<'_> {
    (subject.kind(), subject.id())
}

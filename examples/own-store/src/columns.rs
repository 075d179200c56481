//! Reading what is stored back through the domain's own checks. A row that breaks a rule is told of, and
//! never acted on.

use std::fmt::Display;

use chrono::{DateTime, Utc};
use keyward_domain::audit::{Actor, Subject};
use keyward_domain::id::{
    ApiKeyId, InvitationId, MembershipId, OrganizationId, ProjectId, SessionId, UserId,
};
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

    /// What a word stands for.
    pub(crate) fn known<T>(self, column: &'static str, value: Option<T>) -> Result<T, StorageError> {
        self.valid(column, value.ok_or("not a known word"))
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

    pub(crate) fn actor(self, column: &'static str, actor: Reference<'_>) -> Result<Actor, StorageError> {
        let actor = match actor {
            ("user", Some(id)) => Some(Actor::User(UserId::from_uuid(id))),
            ("api_key", Some(id)) => Some(Actor::ApiKey(ApiKeyId::from_uuid(id))),
            ("administrator", None) => Some(Actor::Administrator),
            ("system", None) => Some(Actor::System),
            ("anonymous", None) => Some(Actor::Anonymous),
            _ => None,
        };
        self.known(column, actor)
    }

    pub(crate) fn subject(
        self,
        column: &'static str,
        subject: Reference<'_>,
    ) -> Result<Subject, StorageError> {
        let subject = match subject {
            ("installation", None) => Some(Subject::Installation),
            ("organization", Some(id)) => Some(Subject::Organization(OrganizationId::from_uuid(id))),
            ("user", Some(id)) => Some(Subject::User(UserId::from_uuid(id))),
            ("membership", Some(id)) => Some(Subject::Membership(MembershipId::from_uuid(id))),
            ("invitation", Some(id)) => Some(Subject::Invitation(InvitationId::from_uuid(id))),
            ("project", Some(id)) => Some(Subject::Project(ProjectId::from_uuid(id))),
            ("api_key", Some(id)) => Some(Subject::ApiKey(ApiKeyId::from_uuid(id))),
            ("session", Some(id)) => Some(Subject::Session(SessionId::from_uuid(id))),
            (kind, Some(id)) => Subject::of_newer_kind(kind, id),
            _ => None,
        };
        self.known(column, subject)
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

pub(crate) fn actor_reference(actor: Actor) -> Reference<'static> {
    match actor {
        Actor::User(id) => ("user", Some(id.as_uuid())),
        Actor::ApiKey(id) => ("api_key", Some(id.as_uuid())),
        Actor::Administrator => ("administrator", None),
        Actor::System => ("system", None),
        Actor::Anonymous => ("anonymous", None),
    }
}

pub(crate) fn subject_reference(subject: &Subject) -> Reference<'_> {
    match subject {
        Subject::Installation => ("installation", None),
        Subject::Organization(id) => ("organization", Some(id.as_uuid())),
        Subject::User(id) => ("user", Some(id.as_uuid())),
        Subject::Membership(id) => ("membership", Some(id.as_uuid())),
        Subject::Invitation(id) => ("invitation", Some(id.as_uuid())),
        Subject::Project(id) => ("project", Some(id.as_uuid())),
        Subject::ApiKey(id) => ("api_key", Some(id.as_uuid())),
        Subject::Session(id) => ("session", Some(id.as_uuid())),
        Subject::Other { kind, id } => (kind.as_str(), Some(*id)),
    }
}

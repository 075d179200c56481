//! The subject of an event, stored as kind and identifier.

use std::fmt::Display;

use keyward_domain::audit::Subject;
use keyward_domain::id::{
    ApiKeyId, InvitationId, MembershipId, OrganizationId, ProjectId, SessionId, UserId,
};
use keyward_domain::ports::StorageError;
use uuid::Uuid;

use crate::stored_row::StoredRow;

pub(crate) const fn to_columns(subject: &Subject) -> (&str, Option<Uuid>) {
    (subject.kind(), subject.id())
}

pub(crate) fn from_columns(
    stored: &StoredRow<impl Display>,
    (kind_column, kind): (&'static str, &str),
    (id_column, id): (&'static str, Option<Uuid>),
) -> Result<Subject, StorageError> {
    let id = || stored.present(id_column, id);
    match kind {
        "installation" => Ok(Subject::Installation),
        "organization" => Ok(Subject::Organization(OrganizationId::from_uuid(id()?))),
        "user" => Ok(Subject::User(UserId::from_uuid(id()?))),
        "membership" => Ok(Subject::Membership(MembershipId::from_uuid(id()?))),
        "invitation" => Ok(Subject::Invitation(InvitationId::from_uuid(id()?))),
        "project" => Ok(Subject::Project(ProjectId::from_uuid(id()?))),
        "api_key" => Ok(Subject::ApiKey(ApiKeyId::from_uuid(id()?))),
        "session" => Ok(Subject::Session(SessionId::from_uuid(id()?))),
        kind => stored.word(kind_column, Subject::of_newer_kind(kind, id()?)),
    }
}

//! An actor, stored as kind and identifier.

use std::fmt::Display;

use keyward_domain::audit::Actor;
use keyward_domain::id::{ApiKeyId, UserId};
use keyward_domain::ports::StorageError;
use uuid::Uuid;

use crate::stored_row::StoredRow;

pub(crate) const fn to_columns(actor: Actor) -> (&'static str, Option<Uuid>) {
    let id = match actor.as_subject() {
        Some(subject) => subject.id(),
        None => None,
    };
    (actor.kind(), id)
}

pub(crate) fn from_columns(
    row: &StoredRow<impl Display>,
    (kind_column, kind): (&'static str, &str),
    (id_column, id): (&'static str, Option<Uuid>),
) -> Result<Actor, StorageError> {
    match kind {
        "user" => Ok(Actor::User(UserId::from_uuid(row.present(id_column, id)?))),
        "api_key" => Ok(Actor::ApiKey(ApiKeyId::from_uuid(row.present(id_column, id)?))),
        "administrator" => Ok(Actor::Administrator),
        "system" => Ok(Actor::System),
        "anonymous" => Ok(Actor::Anonymous),
        _ => row.word(kind_column, None),
    }
}

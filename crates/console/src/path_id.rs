//! Identifiers in paths.

use std::str::FromStr;

use poem::{FromRequest, Request, RequestBody};

use crate::links::Parameter;
use crate::refusal::Refusal;

/// The identifier that the path names as `:id`. What is no identifier names nothing.
pub(crate) struct PathId<Id>(pub(crate) Id);

impl<'a, Id: FromStr + Send> FromRequest<'a> for PathId<Id> {
    async fn from_request(request: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        let id = Parameter::ID.of(request).and_then(|id| id.parse().ok());
        Ok(Self(id.ok_or(Refusal::NotFound)?))
    }
}

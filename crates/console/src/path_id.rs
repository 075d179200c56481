//! Identifiers in paths.

use std::str::FromStr;

use poem::{FromRequest, Request, RequestBody};

use crate::paths;
use crate::refusal::Refusal;

/// The identifier in the path, in the place of `{id}`. Any other text is not found.
pub(crate) struct PathId<Id>(pub(crate) Id);

impl<'a, Id: FromStr + Send> FromRequest<'a> for PathId<Id> {
    async fn from_request(request: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        let id = request.raw_path_param(paths::ID);
        let id = id.and_then(|id| id.parse().ok());
        Ok(Self(id.ok_or(Refusal::NotFound)?))
    }
}

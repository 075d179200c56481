//! The key that an address names.

use keyward_domain::id::ApiKeyId;
use poem::{FromRequest, Request, RequestBody};

use crate::refusal::Refusal;

/// The key that the path names. What is no id names no key.
pub(super) struct KeyInPath(pub(super) ApiKeyId);

impl<'a> FromRequest<'a> for KeyInPath {
    async fn from_request(request: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        let id = request.raw_path_param("id").and_then(|id| id.parse().ok());
        Ok(Self(id.ok_or(Refusal::NotFound)?))
    }
}

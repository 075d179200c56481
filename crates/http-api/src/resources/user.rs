//! `/api/v1/user`

use poem_openapi::{ApiResponse, OpenApi};

use super::representations::UserItem;
use super::tag::Tag;
use crate::authentication::Authenticated;
use crate::json::WrittenJson;
use crate::paths::USER;
use crate::problem::Problem;
use crate::request::QueryNames;

pub(crate) struct UserResource;

#[derive(ApiResponse)]
pub(crate) enum GotUser {
    /// The user that the calling key acts as.
    #[oai(status = 200)]
    Found(WrittenJson<UserItem>),
}

#[OpenApi(prefix_path = USER, tag = "Tag::User")]
impl UserResource {
    /// Get the current user
    ///
    /// The user, the organization and the consumer behind the calling key.
    #[oai(path = "/", method = "get", operation_id = "getUser")]
    async fn get(&self, authenticated: Authenticated, query: QueryNames) -> Result<GotUser, Problem> {
        query.only(&[])?;
        Ok(GotUser::Found(WrittenJson(UserItem::from(&authenticated.0))))
    }
}

//! `/api/v1/user`

use chrono::{DateTime, Utc};
use keyward_domain::access::{Caller, CallerOrganization};
use poem_openapi::types::Example;
use poem_openapi::{ApiResponse, Object, OpenApi};
use serde::Serialize;

use super::examples;
use super::tag::Tag;
use crate::authentication::Authenticated;
use crate::json::{WrittenJson, moment, write_moment};
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

/// The user that the calling key acts as.
#[derive(Object, Serialize)]
#[serde(rename_all = "camelCase")]
#[oai(rename = "User", rename_all = "camelCase", example)]
pub(crate) struct UserItem {
    /// The ID of the user.
    user_id: String,
    /// The name the user signs in with.
    username: String,
    /// The user's membership.
    consumer_id: String,
    /// The organization of the membership.
    organization: OrganizationSummary,
    /// The calling key. All of its fields are at `/api/v1/user/api-keys/current`.
    api_key: CallingApiKey,
}

/// A summary of an organization.
#[derive(Object, Serialize)]
#[oai(rename = "OrganizationSummary")]
pub(crate) struct OrganizationSummary {
    /// The ID of the organization.
    id: String,
    /// The name of the organization in console URLs. Never changes.
    slug: String,
    /// The name of the organization.
    name: String,
}

/// A summary of the calling key.
#[derive(Object, Serialize)]
#[serde(rename_all = "camelCase")]
#[oai(rename = "CallingApiKey", rename_all = "camelCase")]
pub(crate) struct CallingApiKey {
    /// The ID of the key.
    id: String,
    /// Whether the key can create keys, and read, update and revoke the other keys of its consumer. Otherwise
    /// it can only read, update and revoke itself. Cannot be changed.
    can_manage_keys: bool,
    /// When it was created.
    #[oai(serialize_with = "moment")]
    #[serde(serialize_with = "write_moment")]
    created_at: DateTime<Utc>,
}

impl OrganizationSummary {
    pub(crate) fn of(organization: &CallerOrganization) -> Self {
        Self {
            id: organization.id.to_string(),
            slug: organization.slug.to_string(),
            name: organization.name.to_string(),
        }
    }
}

impl From<&Caller> for UserItem {
    fn from(caller: &Caller) -> Self {
        Self {
            user_id: caller.consumer().user_id.to_string(),
            username: caller.consumer().username.to_string(),
            consumer_id: caller.consumer().id.to_string(),
            organization: OrganizationSummary::of(caller.organization()),
            api_key: CallingApiKey {
                id: caller.api_key().id.to_string(),
                can_manage_keys: caller.api_key().can_manage_keys,
                created_at: caller.api_key().created_at,
            },
        }
    }
}

impl Example for UserItem {
    fn example() -> Self {
        Self {
            user_id: examples::USER_ID.to_owned(),
            username: "ada".to_owned(),
            consumer_id: examples::CONSUMER_ID.to_owned(),
            organization: OrganizationSummary::example(),
            api_key: CallingApiKey {
                id: examples::PARENT_ID.to_owned(),
                can_manage_keys: true,
                created_at: examples::moment(),
            },
        }
    }
}

impl Example for OrganizationSummary {
    fn example() -> Self {
        Self {
            id: "019b76ce-e000-7f0e-8c2d-3e4f5a6b7c8d".to_owned(),
            slug: "analytical-engines".to_owned(),
            name: "Analytical Engines".to_owned(),
        }
    }
}

//! The resources of the API: one module for each path, and what they show.

mod api_key;
mod api_keys;
mod cursor;
pub(crate) mod examples;
mod list_filter;
mod project;
mod project_cursor;
mod project_representations;
mod projects;
mod representations;
mod request_bodies;
mod user;

use poem_openapi::Tags;

pub(crate) use api_key::ApiKeyResource;
pub(crate) use api_keys::ApiKeysResource;
pub(crate) use project::ProjectResource;
pub(crate) use projects::ProjectsResource;
pub(crate) use user::UserResource;

/// Where the versioned resources are.
pub(crate) const PREFIX: &str = "/api/v1";

/// The path of the list of keys.
pub(crate) const API_KEYS: &str = "/api/v1/user/api-keys";

/// The path of the list of projects.
pub(crate) const PROJECTS: &str = "/api/v1/user/projects";

#[derive(Tags)]
enum Tag {
    /// The personal keys of the consumer that the calling key acts as: create, list, rename, revoke.
    #[oai(rename = "API keys")]
    ApiKeys,
    /// The projects that the calling key reaches.
    Projects,
    /// Whom the calling key acts as.
    User,
}

/// Every resource. Each path has one struct: poem-openapi loses methods of a path that is split over two.
pub(crate) type Api = (
    ApiKeysResource,
    ApiKeyResource,
    ProjectsResource,
    ProjectResource,
    UserResource,
);

pub(crate) const API: Api = (
    ApiKeysResource,
    ApiKeyResource,
    ProjectsResource,
    ProjectResource,
    UserResource,
);

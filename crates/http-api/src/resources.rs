//! The resources of the API: one module per path, and their representations.

mod api_key;
mod api_keys;
mod auth;
mod cursor;
pub(crate) mod examples;
mod github_leaks;
mod introspection;
mod introspection_representations;
mod leaked_keys;
mod list_filter;
mod project;
mod project_cursor;
mod project_representations;
mod projects;
mod representations;
mod request_bodies;
mod rotation;
mod tag;
mod user;

pub(crate) use api_key::ApiKeyResource;
pub(crate) use api_keys::ApiKeysResource;
pub(crate) use auth::AuthResource;
pub(crate) use github_leaks::GitHubLeaksResource;
pub use github_leaks::LARGER_BODIES;
pub(crate) use introspection::IntrospectionResource;
#[cfg(test)]
pub(crate) use introspection_representations::Introspection;
pub(crate) use leaked_keys::LeakedKeysResource;
pub(crate) use project::ProjectResource;
pub(crate) use projects::ProjectsResource;
#[cfg(test)]
pub(crate) use representations::UserItem;
pub(crate) use rotation::RotationResource;
pub(crate) use user::UserResource;

use crate::paths::GITHUB_LEAKS;

/// The operations that are not in the document: the name and the path of each.
pub const HIDDEN_OPERATIONS: &[(&str, &str)] = &[("reportLeakedKeysAsGitHub", GITHUB_LEAKS)];

/// All resources. Each path has one struct: poem-openapi loses methods if a path is split over two.
pub(crate) type Api = (
    ApiKeysResource,
    ApiKeyResource,
    RotationResource,
    ProjectsResource,
    ProjectResource,
    UserResource,
    AuthResource,
    IntrospectionResource,
    LeakedKeysResource,
    GitHubLeaksResource,
);

pub(crate) const API: Api = (
    ApiKeysResource,
    ApiKeyResource,
    RotationResource,
    ProjectsResource,
    ProjectResource,
    UserResource,
    AuthResource,
    IntrospectionResource,
    LeakedKeysResource,
    GitHubLeaksResource,
);

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
pub(crate) use rotation::RotationResource;
#[cfg(test)]
pub(crate) use user::UserItem;
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

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashMap};

    use poem_openapi::OpenApi;

    use super::{API, Api, HIDDEN_OPERATIONS};

    /// A path whose parameters have no names.
    fn unnamed(path: &str) -> String {
        let segments = path.split('/');
        let segments = segments.map(|segment| {
            if segment.starts_with([':', '{']) {
                "{}"
            } else {
                segment
            }
        });
        segments.collect::<Vec<_>>().join("/")
    }

    /// Every operation is either in the document, whose operations have tests, or in this list.
    #[test]
    fn operations_outside_the_document_are_listed() {
        let documented = Api::meta().into_iter().flat_map(|api| api.paths);
        let documented = documented.flat_map(|path| {
            let methods = path.operations.into_iter().map(|operation| operation.method);
            methods.map(move |method| format!("{method} {}", unnamed(&path.path)))
        });
        let documented: BTreeSet<_> = documented.collect();
        let mut served = HashMap::new();
        API.add_routes(&mut served);
        let served = served.iter().flat_map(|(path, methods)| {
            let methods = methods.keys();
            methods.map(move |method| format!("{method} {}", unnamed(path)))
        });
        let hidden: BTreeSet<_> = served
            .filter(|operation| !documented.contains(operation))
            .collect();
        let listed = include_str!("../tests/hidden_operations.txt").lines();
        assert_eq!(hidden, listed.map(str::to_owned).collect::<BTreeSet<_>>());
        let named = HIDDEN_OPERATIONS.iter().map(|(_, path)| *path);
        let paths = hidden.iter().filter_map(|operation| operation.split(' ').nth(1));
        assert_eq!(paths.collect::<BTreeSet<_>>(), named.collect::<BTreeSet<_>>());
    }
}

//! The methods that a path allows.

use std::collections::BTreeSet;

use poem_openapi::OpenApi;

/// The path templates of the API's operations, and of the pages beside them.
pub(crate) struct Routes(Vec<Route>);

struct Route {
    template: String,
    methods: BTreeSet<String>,
}

impl Routes {
    /// The paths of an API, and other paths that allow only `GET`.
    pub(crate) fn of<Api: OpenApi>(_api: &Api, others: impl IntoIterator<Item = String>) -> Self {
        let operations = Api::meta()
            .into_iter()
            .flat_map(|api| api.paths)
            .map(|path| Route {
                template: path.path,
                methods: path
                    .operations
                    .iter()
                    .map(|operation| operation.method.to_string())
                    .collect(),
            });
        let others = others.into_iter().map(|template| Route {
            template,
            methods: BTreeSet::from(["GET".to_owned()]),
        });
        Self(operations.chain(others).collect())
    }

    /// With an operation that is not in the document.
    pub(crate) fn with_hidden(mut self, template: &str, method: &str) -> Self {
        self.0.push(Route {
            template: template.to_owned(),
            methods: BTreeSet::from([method.to_owned()]),
        });
        self
    }

    /// The value of `Allow` for a path.
    pub(crate) fn allowed_methods(&self, path: &str) -> String {
        let matching = self.0.iter().filter(|route| matches(&route.template, path));
        let mut methods: BTreeSet<&str> = matching
            .flat_map(|route| &route.methods)
            .map(String::as_str)
            .collect();
        if methods.contains("GET") {
            methods.insert("HEAD");
        }
        methods.into_iter().collect::<Vec<_>>().join(", ")
    }
}

/// Whether a path matches a template, such as `/problems/{code}`.
fn matches(template: &str, path: &str) -> bool {
    let mut expected = template.split('/');
    let mut actual = path.split('/');
    loop {
        match (expected.next(), actual.next()) {
            (None, None) => return true,
            (Some(expected), Some(actual)) if expected == actual || expected.starts_with('{') => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashMap};

    use poem_openapi::OpenApi;

    use super::{Routes, matches};
    use crate::resources::{API, HIDDEN_OPERATIONS};

    /// So that no operation escapes the tests that go through the document: the others have this list.
    #[test]
    fn operations_outside_the_document_are_listed() {
        let mut served = HashMap::new();
        API.add_routes(&mut served);
        let documented = Routes::of(&API, []);
        let hidden = served.iter().flat_map(|(path, methods)| {
            let allowed = documented.allowed_methods(path);
            let methods = methods.keys().map(ToString::to_string);
            let hidden = methods.filter(move |method| !allowed.split(", ").any(|known| known == method));
            hidden.map(move |method| format!("{method} {path}"))
        });
        let hidden: BTreeSet<_> = hidden.collect();
        let listed = include_str!("../tests/hidden_operations.txt").lines();
        assert_eq!(hidden, listed.map(str::to_owned).collect::<BTreeSet<_>>());
        let named = HIDDEN_OPERATIONS.iter().map(|(_, path)| *path);
        let paths = hidden.iter().filter_map(|operation| operation.split(' ').nth(1));
        assert_eq!(paths.collect::<BTreeSet<_>>(), named.collect::<BTreeSet<_>>());
    }

    #[test]
    fn path_template_matches_by_segment() {
        assert!(matches("/keys/{id}", "/keys/7"));
        assert!(!matches("/keys/{id}", "/keys"));
        assert!(!matches("/keys/{id}", "/keys/7/more"));
        assert!(!matches("/keys", "/users"));
    }
}

//! Which operation a request is for.

use std::collections::HashMap;

use poem::{Endpoint, Request, Response, Route, RouteMethod};
use poem_openapi::OpenApi;

/// The operations of an API, by path and method.
///
/// poem-openapi would serve them itself, but its endpoint copies each request several times and reads its query and its
/// cookies, whatever the operation (`docs/performance.md`). Here, operations cannot use its `Query` and `CookieJar`.
pub(crate) struct Operations {
    at_fixed_paths: HashMap<String, RouteMethod>,
    at_templates: Route,
}

impl Operations {
    pub(crate) fn of(api: impl OpenApi) -> Self {
        let mut routes = HashMap::new();
        api.add_routes(&mut routes);
        let mut operations = Self {
            at_fixed_paths: HashMap::new(),
            at_templates: Route::new(),
        };
        for (path, by_method) in routes {
            let methods = by_method
                .into_iter()
                .fold(RouteMethod::new(), |methods, (method, operation)| {
                    methods.method(method, operation)
                });
            if path.contains([':', '*', '<']) {
                operations.at_templates = operations.at_templates.at(path, methods);
            } else {
                operations.at_fixed_paths.insert(path, methods);
            }
        }
        operations
    }

    pub(crate) async fn call(&self, request: Request) -> poem::Result<Response> {
        match self.at_fixed_paths.get(request.uri().path()) {
            Some(methods) => methods.call(request).await,
            None => self.at_templates.call(request).await,
        }
    }
}

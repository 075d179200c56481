//! Which operation a request is for.

use std::collections::HashMap;
use std::future::ready;
use std::pin::Pin;

use poem::endpoint::{BoxEndpoint, DynEndpoint};
use poem::error::MethodNotAllowedError;
use poem::http::Method;
use poem::{Endpoint, EndpointExt, Request, Response, Route};
use poem_openapi::OpenApi;

/// The future of an answer. It is boxed because it holds the request, which would otherwise be copied into
/// each future that awaits this one.
type Answering<'a> = Pin<Box<dyn Future<Output = poem::Result<Response>> + Send + 'a>>;

/// The operations of an API, by path and method.
///
/// poem-openapi would serve them itself, but its endpoint copies each request several times and reads its
/// query and its cookies, whatever the operation (`docs/performance.md`). Here, operations cannot use its
/// `Query` and `CookieJar`.
pub(crate) struct Operations {
    at_fixed_paths: HashMap<String, Methods>,
    at_templates: BoxEndpoint<'static>,
}

impl Operations {
    pub(crate) fn of(api: impl OpenApi) -> Self {
        let mut routes = HashMap::new();
        api.add_routes(&mut routes);
        let mut at_fixed_paths = HashMap::new();
        let mut at_templates = Route::new();
        for (path, by_method) in routes {
            let methods = Methods(by_method.into_iter().collect());
            if path.contains([':', '*', '<']) {
                at_templates = at_templates.at(path, methods);
            } else {
                at_fixed_paths.insert(path, methods);
            }
        }
        Self {
            at_fixed_paths,
            at_templates: at_templates.boxed(),
        }
    }

    pub(crate) fn call(&self, request: Request) -> Answering<'_> {
        match self.at_fixed_paths.get(request.uri().path()) {
            Some(methods) => methods.answer(request),
            None => DynEndpoint::call(&*self.at_templates, request),
        }
    }
}

/// The operations at one path. poem's `RouteMethod` would put each into a further box.
struct Methods(Vec<(Method, BoxEndpoint<'static>)>);

impl Methods {
    fn answer(&self, mut request: Request) -> Answering<'_> {
        // hyper sends no body in answer to HEAD, but the length that it has.
        if *request.method() == Method::HEAD {
            request.set_method(Method::GET);
        }
        let mut operations = self.0.iter();
        match operations.find(|(method, _)| method == request.method()) {
            Some((_, operation)) => DynEndpoint::call(&**operation, request),
            None => Box::pin(ready(Err(MethodNotAllowedError.into()))),
        }
    }
}

impl Endpoint for Methods {
    type Output = Response;

    fn call(&self, request: Request) -> impl Future<Output = poem::Result<Response>> + Send {
        self.answer(request)
    }
}

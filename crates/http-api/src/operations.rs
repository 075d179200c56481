//! Which operation a request is for.

use std::collections::{BTreeSet, HashMap};
use std::future::ready;
use std::pin::Pin;

use poem::endpoint::{BoxEndpoint, DynEndpoint};
use poem::error::MethodNotAllowedError;
use poem::http::{HeaderValue, Method};
use poem::{Endpoint, EndpointExt, Request, Response, Route};
use poem_openapi::OpenApi;

/// The future of an answer. It is boxed because it holds the request, which would otherwise be copied into
/// each future that awaits this one.
type Answering<'a> = Pin<Box<dyn Future<Output = poem::Result<Response>> + Send + 'a>>;

/// The operations of an API, by path and method.
///
/// poem-openapi would serve them itself, but its endpoint copies each request several times and always reads
/// its query and its cookies (`docs/performance.md`). Here, operations cannot use its `Query` and
/// `CookieJar`.
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
            let methods = Methods::new(by_method);
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

/// The endpoints of one path by method. poem's `RouteMethod` would put each endpoint into a further box, and
/// does not list its methods.
pub(crate) struct Methods {
    endpoints: Vec<(Method, BoxEndpoint<'static>)>,
    allowed: AllowedMethods,
}

/// The value of `Allow`. It is data of each error about another method.
#[derive(Clone)]
pub(crate) struct AllowedMethods(pub(crate) HeaderValue);

impl Methods {
    fn new(endpoints: impl IntoIterator<Item = (Method, BoxEndpoint<'static>)>) -> Self {
        let endpoints: Vec<_> = endpoints.into_iter().collect();
        let mut names: BTreeSet<&str> = endpoints.iter().map(|(method, _)| method.as_str()).collect();
        if names.contains("GET") {
            names.insert("HEAD");
        }
        let allowed = names.into_iter().collect::<Vec<_>>().join(", ");
        // Methods are tokens (RFC 9110, section 9.1), which headers may hold.
        let allowed = HeaderValue::try_from(allowed).unwrap_or(HeaderValue::from_static(""));
        Self {
            allowed: AllowedMethods(allowed),
            endpoints,
        }
    }

    /// A page, which can only be read.
    pub(crate) fn page(page: impl Endpoint<Output = Response> + 'static) -> Self {
        Self::new([(Method::GET, page.boxed())])
    }

    fn answer(&self, mut request: Request) -> Answering<'_> {
        // hyper sends no body in answer to HEAD, but the length that it has.
        if *request.method() == Method::HEAD {
            request.set_method(Method::GET);
        }
        let mut endpoints = self.endpoints.iter();
        match endpoints.find(|(method, _)| method == request.method()) {
            Some((_, endpoint)) => DynEndpoint::call(&**endpoint, request),
            None => {
                let mut error = poem::Error::from(MethodNotAllowedError);
                error.set_data(self.allowed.clone());
                Box::pin(ready(Err(error)))
            }
        }
    }
}

impl Endpoint for Methods {
    type Output = Response;

    fn call(&self, request: Request) -> impl Future<Output = poem::Result<Response>> + Send {
        self.answer(request)
    }
}

//! Forward authentication: a gateway asks `/api/v1/auth` about each request before it passes that request on.
//!
//! Gateways send different requests: `GET`, or the method of the original request; `/api/v1/auth` alone, or
//! followed by the original path and query, as from Envoy; with the original body, or without. All of these
//! become the one operation of the document, [`AuthResource`](crate::resources::AuthResource), so that an
//! answer never depends on the difference. In particular, a preflight (`OPTIONS` without credentials) is
//! refused like any request without credentials: a gateway that should answer preflights does so before it
//! asks Keyward. Only answers to `OPTIONS` have the header `Allow`.

use poem::Request;
use poem::http::uri::PathAndQuery;
use poem::http::{Method, Uri};

use crate::paths::{self, FORWARD_AUTH};
use crate::request::form_decoded;

/// The query parameter that is the gateway's, also behind the path of another request.
pub(crate) const PROJECT: &str = "project";

/// Makes a request to [`FORWARD_AUTH`] or to a path below it the request of the operation, without a body;
/// leaves every other request unchanged. So a path below it with dot segments is not found: a proxy that
/// refuses this path to others may have read it as another one.
pub(crate) fn reduce_to_operation(request: &mut Request) {
    let path = request.uri().path();
    if !paths::is_forward_auth(path) {
        return;
    }
    if path != FORWARD_AUTH {
        *request.uri_mut() = operation_uri(request.uri());
    }
    request.set_method(Method::GET);
    // hyper closes the connection after the response rather than read the unused body.
    drop(request.take_body());
}

/// The operation's URI for a path below it. The query is that of the original request, and only `project` is
/// kept: without it, a gateway that asks for a project at `/api/v1/auth/` would accept every key.
fn operation_uri(asked: &Uri) -> Uri {
    let parameters = asked.query().unwrap_or_default().split('&');
    let is_project = |name: &str| form_decoded(name).is_some_and(|name| name == PROJECT);
    let project: Vec<&str> = parameters
        .filter(|parameter| parameter.split('=').next().is_some_and(is_project))
        .collect();
    let path_and_query = format!("{FORWARD_AUTH}?{}", project.join("&"));
    // It cannot fail: the query was one before.
    PathAndQuery::try_from(path_and_query).map_or_else(|_| Uri::from_static(FORWARD_AUTH), Uri::from)
}

#[cfg(test)]
mod tests {
    use super::operation_uri;

    #[test]
    fn only_project_survives_of_a_query_below() {
        for (asked, expected) in [
            ("/api/v1/auth/", "/api/v1/auth?"),
            ("/api/v1/auth/a/b?x=1&x=2&%", "/api/v1/auth?"),
            ("/api/v1/auth/?project=7", "/api/v1/auth?project=7"),
            ("/api/v1/auth/?projects=7&a&project=7", "/api/v1/auth?project=7"),
            (
                "/api/v1/auth/?project&project=7",
                "/api/v1/auth?project&project=7",
            ),
            (
                "/api/v1/auth/?%70roject=7&projec%74&a%70roject=7&project%",
                "/api/v1/auth?%70roject=7&projec%74",
            ),
        ] {
            assert_eq!(operation_uri(&asked.parse().unwrap()), expected, "{asked}");
        }
    }
}

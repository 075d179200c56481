//! All served paths; routes and links are built from these constants.

use percent_encoding::percent_decode_str;

/// The prefix of all versions of the API.
const API: &str = "/api";
/// The prefix of version 1.
pub(crate) const PREFIX: &str = "/api/v1";
/// The user that the calling key acts as.
pub const USER: &str = "/api/v1/user";
/// The keys of that consumer; each one is below.
pub const API_KEYS: &str = "/api/v1/user/api-keys";
/// The projects that the calling key reaches; each one is below.
pub const PROJECTS: &str = "/api/v1/user/projects";

/// Forward authentication, for gateways; each path below it is the same.
pub(crate) const FORWARD_AUTH: &str = "/api/v1/auth";

/// Introspection, for services that get tokens from clients.
pub(crate) const INTROSPECTION: &str = "/api/v1/introspect";

/// Reports of leaked tokens, without credentials.
pub(crate) const LEAKED_KEYS: &str = "/api/v1/leaked-keys";
/// GitHub's signed reports of leaked tokens.
pub(crate) const GITHUB_LEAKS: &str = "/api/v1/leaked-keys/github";

/// Describes the HTTP API in JSON (OpenAPI).
pub(crate) const DOCUMENT: &str = "/openapi.json";
/// The page on which people read it; its assets are below.
pub const REFERENCE: &str = "/docs";
/// Below it are the pages that say what problems mean.
pub(crate) const PROBLEMS: &str = "/problems";

/// Whether this crate serves a path, even if only with a problem. No other interface uses these paths.
#[must_use]
pub fn is_served(path: &str) -> bool {
    let is_below = |parent| is_below(path, parent);
    is_api(path) || [DOCUMENT, REFERENCE].contains(&path) || [REFERENCE, PROBLEMS].into_iter().any(is_below)
}

/// Whether a path is one that only programs ask for.
#[must_use]
pub fn is_api(path: &str) -> bool {
    path == API || is_below(path, API)
}

/// Whether a path is below another one.
pub(crate) fn is_below(path: &str, parent: &str) -> bool {
    path.strip_prefix(parent)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// The page of a problem.
pub(crate) fn problem(code: &str) -> String {
    [PROBLEMS, "/", code].concat()
}

/// A file that the pages load.
pub(crate) fn asset(name: &str) -> String {
    format!("{REFERENCE}/{name}")
}

/// The methods to ask [`FORWARD_AUTH`] with (RFC 9110 §9.3 and RFC 5789), for `Allow`. Others are accepted, too,
/// except for `TRACE` and `CONNECT`, which the front door refuses.
pub(crate) const FORWARD_AUTH_METHODS: &str = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT";

/// Whether requests to this path are for forward authentication.
pub(crate) fn is_forward_auth(path: &str) -> bool {
    (path == FORWARD_AUTH || is_below(path, FORWARD_AUTH)) && !has_dot_segments(path)
}

/// Whether a path has dot segments (RFC 3986 §3.3) once it is decoded, as proxies decode it: `/a%2F%2e%2e/b`
/// is `/a/../b`.
fn has_dot_segments(path: &str) -> bool {
    let decoded: Vec<u8> = percent_decode_str(path).collect();
    decoded
        .split(|byte| *byte == b'/')
        .any(|segment| segment == b"." || segment == b"..")
}

#[cfg(test)]
mod tests {
    use super::is_served;

    #[test]
    fn path_is_classified_as_api_or_console() {
        for path in [
            "/api",
            "/api/",
            "/api/v1/user",
            "/docs",
            "/docs/reference.css",
            "/openapi.json",
            "/problems/not_found",
        ] {
            assert!(is_served(path), "{path}");
        }
        for path in [
            "/",
            "/setup",
            "/apis",
            "/api-keys",
            "/healthz",
            "/docs-of-ours",
            "/openapi.jsonx",
            "/problems",
            "",
        ] {
            assert!(!is_served(path), "{path}");
        }
    }
}

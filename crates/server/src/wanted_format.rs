//! Whether a client reads JSON or pages.

use poem::http::{HeaderMap, header};

/// Whether a request comes from a program: it names JSON in `Accept` and prefers no page to it, or names no
/// page and has a bearer token, which some proxies give to every request of a browser. `*/*` names nothing:
/// people with `curl` and browsers that load an image send it, too.
pub(crate) fn wants_json(headers: &HeaderMap) -> bool {
    let (json, page) = wanted(headers);
    json > page || page == 0.0 && has_bearer_token(headers)
}

fn has_bearer_token(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    values.any(|value| {
        let scheme = value.as_bytes().split(|byte| matches!(byte, b' ' | b'\t')).next();
        scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"bearer"))
    })
}

/// The weights of JSON and of HTML; 0 for a type that is not listed.
fn wanted(headers: &HeaderMap) -> (f32, f32) {
    let (mut json, mut page) = (0.0, 0.0);
    let values = headers.get_all(header::ACCEPT).iter();
    for range in values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
    {
        let mut parts = range.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default().to_ascii_lowercase();
        let weight = parts
            .filter_map(|parameter| parameter.split_once('='))
            .find(|(name, _)| name.trim().eq_ignore_ascii_case("q"))
            .map_or(1.0, |(_, weight)| weight.trim().parse().unwrap_or(0.0));
        let best = match media_type.as_str() {
            "application/json" | "application/problem+json" => &mut json,
            "text/html" | "application/xhtml+xml" => &mut page,
            _ => continue,
        };
        *best = f32::max(*best, weight);
    }
    (json, page)
}

#[cfg(test)]
mod tests {
    use poem::http::HeaderName;

    use super::*;

    fn wants_json_with(name: &'static str, value: &str) -> bool {
        wants_json(&HeaderMap::from_iter([(
            HeaderName::from_static(name),
            value.parse().unwrap(),
        )]))
    }

    #[test]
    fn programs_are_recognized_by_accept_header_or_bearer_token() {
        for accept in [
            "application/json",
            "Application/JSON; charset=utf-8",
            "application/json, text/plain, */*",
            "application/problem+json",
            "text/html;q=0.5, application/json",
        ] {
            assert!(wants_json_with("accept", accept), "{accept}");
        }
        for authorization in ["Bearer kwp_x", "bearer x", "BEARER"] {
            assert!(wants_json_with("authorization", authorization), "{authorization}");
        }
    }

    #[test]
    fn bearer_token_decides_only_without_html_preference() {
        for (accept, is_program) in [
            ("text/html,application/xhtml+xml,*/*;q=0.8", false),
            ("text/html, application/json", false),
            ("text/html;q=0", true),
            ("image/avif,image/webp,*/*", true),
            ("application/json", true),
        ] {
            let headers = HeaderMap::from_iter([
                (header::AUTHORIZATION, "Bearer x".parse().unwrap()),
                (header::ACCEPT, accept.parse().unwrap()),
            ]);
            assert_eq!(wants_json(&headers), is_program, "{accept}");
        }
    }

    #[test]
    fn other_clients_get_pages() {
        for accept in [
            "*/*",
            "",
            "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "text/html, application/json",
            "text/html, application/json;q=0.9",
            "application/json;q=0",
            "application/jsonp",
        ] {
            assert!(!wants_json_with("accept", accept), "{accept}");
        }
        assert!(!wants_json_with("authorization", "Basic eDp5"));
        assert!(!wants_json(&HeaderMap::new()));
    }
}

//! One form of each path.

use poem::http::{Uri, uri::PathAndQuery};

/// Decodes the percent-encoded octets of unreserved characters in the path, which mean the same either way
/// (RFC 3986 §6.2.2.2): `/%75ser` is `/user`. The query stays as it is.
///
/// Nothing else is decoded, and nothing twice, so that no delimiter (`/`, `?`, `;`, `%`) appears that a proxy
/// did not see as one. A path that would then have a dot segment, which a proxy may or may not have removed,
/// is not changed, and is not found.
pub(crate) fn normalize(uri: &mut Uri) {
    if !uri.path().contains('%') {
        return;
    }
    let Some(path) = decoded(uri.path()) else { return };
    let path_and_query = match uri.query() {
        Some(query) => format!("{path}?{query}"),
        None => path,
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = PathAndQuery::try_from(path_and_query).ok();
    // It cannot fail: every octet was allowed there before, or is unreserved.
    if let Ok(normalized) = Uri::from_parts(parts) {
        *uri = normalized;
    }
}

fn decoded(path: &str) -> Option<String> {
    let mut normalized = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('%') {
        normalized.push_str(before);
        match after.get(..2).and_then(unreserved) {
            Some(character) => {
                normalized.push(character);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                normalized.push('%');
                rest = after;
            }
        }
    }
    normalized.push_str(rest);
    let has_dot_segment = normalized
        .split('/')
        .any(|segment| segment == "." || segment == "..");
    (!has_dot_segment).then_some(normalized)
}

/// The unreserved character (RFC 3986 §2.3) that two hexadecimal digits stand for.
fn unreserved(digits: &str) -> Option<char> {
    // `from_str_radix` takes a sign.
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let byte = u8::from_str_radix(digits, 16).ok()?;
    (byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)).then_some(char::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalized(uri: &str) -> String {
        let mut uri = uri.parse().unwrap();
        normalize(&mut uri);
        uri.to_string()
    }

    #[test]
    fn unreserved_characters_are_decoded_once_in_the_path_only() {
        for (uri, expected) in [
            ("/api/v1/%75ser", "/api/v1/user"),
            ("/%75%73%65%72?x=%75", "/user?x=%75"),
            ("/a%2Db%5F%7e%2E", "/a-b_~."),
            ("http://a.example/%75ser?q", "http://a.example/user?q"),
        ] {
            assert_eq!(normalized(uri), expected, "{uri}");
        }
    }

    #[test]
    fn delimiters_dot_segments_and_incomplete_encodings_are_unchanged() {
        for uri in [
            "/a%2Fb",
            "/a%3fb%23c%3B",
            "/%2575ser",
            "/%2e%2e/api",
            "/a/%2E/b",
            "/a%",
            "/a%7",
            "/a%+5",
            "/a%zz",
            "/%C3%A9",
            "*",
        ] {
            assert_eq!(normalized(uri), uri);
        }
    }
}

//! Keeps whole tokens out of the URLs of searchable lists, because a browser's history and proxies' logs keep URLs.

use keyward_domain::token::{LENGTH, PREFIX};
use poem::Request;
use poem::http::Method;

use crate::forms::Fields;
use crate::local_path::LocalPath;
use crate::paths;

/// The parameters that people type.
const TYPED: [&str; 3] = ["search", "who", "what"];

/// If a whole token is searched for: the URL of the same search for its last four characters, by which lists find a
/// key. Other parameters stay, but without tokens. This is done before authentication, because the sign-in page's URL
/// would contain this one.
pub(crate) fn without_token(request: &Request) -> Option<String> {
    if *request.method() != Method::GET && *request.method() != Method::HEAD {
        return None;
    }
    // A path may have a form that browsers take for another host; it must not be a redirect's target (CWE-601).
    let path = LocalPath::parse(request.uri().path())?;
    let query = Fields::in_query(request).ok()?;
    let has_token = |part: &str| query.optional(part).and_then(end_of_token).is_some();
    TYPED.into_iter().any(has_token).then(|| {
        let mut parts: Vec<_> = query.all().collect();
        parts.sort_unstable_by_key(|(part, _)| (TYPED.contains(part), *part));
        let parts = parts.into_iter();
        let parts = parts.map(|(part, text)| (part, Some(end_of_token(text).unwrap_or(text))));
        paths::with_query(path.as_str(), parts)
    })
}

/// The last four characters of the first token in a text, even if it is mistyped, cut off, or has words around it.
fn end_of_token(text: &str) -> Option<&str> {
    const SHOWN: usize = 4;
    text.match_indices(PREFIX).find_map(|(at, _)| {
        let token = text.get(at..)?;
        let body = token.get(PREFIX.len()..)?;
        let length = body.bytes().take_while(u8::is_ascii_alphanumeric).count();
        // Shorter ones are words, such as a name: a part of a token so short is useless to guess the rest.
        if length < LENGTH / 2 {
            return None;
        }
        body.get(length - SHOWN..length)
    })
}

#[cfg(test)]
mod tests {
    use super::end_of_token;

    #[test]
    fn token_is_detected_when_mistyped_truncated_or_within_text() {
        let token = "kwp_000000000000000000000000000000002wjyrI";
        for text in [
            token,
            "kwp_00000000000000000000000000000000xxjyrI",
            "kwp_000000000000000000000jyrI",
            "Authorization: Bearer kwp_000000000000000000000000000000002wjyrI",
            "\u{a0}export TOKEN='kwp_000000000000000000000000000000002wjyrI' #",
        ] {
            assert_eq!(end_of_token(text), Some("jyrI"), "{text}");
        }
    }

    #[test]
    fn ordinary_search_terms_are_not_detected_as_tokens() {
        for text in [
            "",
            "deploy",
            "jyrI",
            "kwp_",
            "kwp_…jyrI",
            "kwp_deploy bot",
            "é",
            "kwp_é",
        ] {
            assert_eq!(end_of_token(text), None, "{text}");
        }
    }
}

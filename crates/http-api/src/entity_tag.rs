//! Entity tags in the headers of requests (RFC 9110 §8.8.3 and §13.1).

use keyward_domain::api_key::ApiKey;
use poem::Request;
use poem::http::{HeaderName, header};

/// The value of a precondition header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EntityTags {
    /// `*`: any existing representation.
    Any,
    /// Opaque tags without their quotes, each with whether it is weak. Bytes that are not UTF-8 are replaced.
    OneOf(Vec<(String, bool)>),
}

/// A header is neither `*` nor a list of entity tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MalformedTags;

/// The `ETag` of a key: strong, because `If-Match` compares strong tags only. It covers the editable fields,
/// so it does not change when the key is used or revoked. Responses must not be cached by it, and all say
/// `no-store`.
pub(crate) fn of_key(key: &ApiKey) -> String {
    format!("\"{}\"", key.version())
}

/// Whether the client already has one of these representations, by weak comparison (`If-None-Match`). A
/// malformed header is ignored, which only costs bandwidth.
pub(crate) fn client_has(request: &Request, opaque_tags: &[&str]) -> bool {
    match read(request, &header::IF_NONE_MATCH) {
        Ok(Some(EntityTags::Any)) => true,
        Ok(Some(EntityTags::OneOf(tags))) => {
            let known = |(tag, _): &(String, bool)| opaque_tags.contains(&tag.as_str());
            tags.iter().any(known)
        }
        Ok(None) | Err(MalformedTags) => false,
    }
}

/// Parses a request header; `None` if it is absent. Several lines form one list.
///
/// # Errors
/// It is neither `*` nor a list of entity tags.
pub(crate) fn read(request: &Request, name: &HeaderName) -> Result<Option<EntityTags>, MalformedTags> {
    let mut tags = Vec::new();
    let mut lines = request.headers().get_all(name).iter().peekable();
    if lines.peek().is_none() {
        return Ok(None);
    }
    let mut is_any = false;
    for line in lines {
        let line = line.as_bytes().trim_ascii();
        if line == b"*" {
            is_any = true;
        } else {
            read_line(line, &mut tags)?;
        }
    }
    match (is_any, tags.is_empty()) {
        (true, true) => Ok(Some(EntityTags::Any)),
        (false, false) => Ok(Some(EntityTags::OneOf(tags))),
        (true, false) | (false, true) => Err(MalformedTags),
    }
}

/// A comma may be part of a tag, and so may bytes beyond ASCII (`obs-text`), which no tag of ours has.
fn read_line(mut rest: &[u8], tags: &mut Vec<(String, bool)>) -> Result<(), MalformedTags> {
    loop {
        rest = without_leading(rest, b" \t,");
        if rest.is_empty() {
            return Ok(());
        }
        let (is_weak, quoted) = match rest.strip_prefix(b"W/") {
            Some(quoted) => (true, quoted),
            None => (false, rest),
        };
        let opaque = quoted.strip_prefix(b"\"").ok_or(MalformedTags)?;
        let end = opaque.iter().position(|byte| *byte == b'"');
        let (tag, after) = opaque.split_at(end.ok_or(MalformedTags)?);
        if tag.iter().any(|byte| matches!(byte, b' ' | b'\t')) {
            return Err(MalformedTags);
        }
        tags.push((String::from_utf8_lossy(tag).into_owned(), is_weak));
        rest = without_leading(&after[1..], b" \t");
        if !rest.is_empty() && !rest.starts_with(b",") {
            return Err(MalformedTags);
        }
    }
}

/// The rest after this prefix.
fn without_leading<'a>(bytes: &'a [u8], skipped: &[u8]) -> &'a [u8] {
    let start = bytes.iter().position(|byte| !skipped.contains(byte));
    &bytes[start.unwrap_or(bytes.len())..]
}

#[cfg(test)]
mod tests {
    use poem::Request;
    use poem::http::HeaderValue;
    use poem::http::header::IF_MATCH;

    use super::{EntityTags, MalformedTags, read};

    fn of(lines: &[&str]) -> Result<Option<EntityTags>, MalformedTags> {
        let mut request = Request::builder();
        for line in lines {
            request = request.header("if-match", *line);
        }
        read(&request.finish(), &IF_MATCH)
    }

    fn tags(tags: &[(&str, bool)]) -> Result<Option<EntityTags>, MalformedTags> {
        let tags = tags.iter().map(|(tag, is_weak)| ((*tag).to_owned(), *is_weak));
        Ok(Some(EntityTags::OneOf(tags.collect())))
    }

    #[test]
    fn entity_tag_list_accepts_weak_tags_and_inner_commas() {
        assert_eq!(of(&[]), Ok(None));
        assert_eq!(of(&["*"]), Ok(Some(EntityTags::Any)));
        assert_eq!(of(&["\"a\""]), tags(&[("a", false)]));
        assert_eq!(
            of(&["\"a,b\" , W/\"c\",,\"\""]),
            tags(&[("a,b", false), ("c", true), ("", false)])
        );
        assert_eq!(of(&["\"a\"", "\"b\""]), tags(&[("a", false), ("b", false)]));
    }

    #[test]
    fn entity_tags_may_have_bytes_beyond_ascii() {
        assert_eq!(of(&["\"é\", W/\"a,é\""]), tags(&[("é", false), ("a,é", true)]));
        assert_eq!(of(&["é"]), Err(MalformedTags));
        let latin = HeaderValue::from_bytes(b"\"\xe9\"").unwrap();
        let request = Request::builder().header(IF_MATCH, latin).finish();
        assert_eq!(read(&request, &IF_MATCH), tags(&[("\u{fffd}", false)]));
    }

    #[test]
    fn invalid_entity_tag_list_is_malformed() {
        for lines in [
            &["a"][..],
            &[""],
            &[","],
            &["\"a"],
            &["a\""],
            &["\"a\"b"],
            &["\"a\" \"b\""],
            &["\"a b\""],
            &["w/\"a\""],
            &["*, \"a\""],
            &["*", "\"a\""],
        ] {
            assert_eq!(of(lines), Err(MalformedTags), "{lines:?}");
        }
    }
}

//! The header `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header).

use keyward_domain::keys::ChosenKey;
use poem::Request;

use super::headers::ReadHeader;
use crate::problem::{Code, Problem};

const NAME: &str = "Idempotency-Key";

/// With it, an operation that creates something may be repeated.
///
/// Its value is a string of structured fields (RFC 9651), as the draft says, or the same without quotation
/// marks, as many clients send it: the two are the same key.
impl ReadHeader for Option<ChosenKey> {
    fn read(request: &Request) -> Result<Self, Problem> {
        let mut lines = request.headers().get_all(NAME).iter();
        match (lines.next(), lines.next()) {
            (None, _) => Ok(None),
            (Some(line), None) => line.to_str().ok().and_then(read).map(Some).ok_or_else(malformed),
            (Some(_), Some(_)) => Err(malformed()),
        }
    }
}

fn malformed() -> Problem {
    let detail = format!(
        "The header `{NAME}` must be sent once, with 1 to {} visible characters of ASCII, in quotation marks or without: in \
         them, also spaces, and `\\\"` and `\\\\` for a quotation mark and a backslash; without them, no space, comma, \
         semicolon, quotation mark or backslash. A random UUID serves well.",
        ChosenKey::MAX
    );
    Problem::with_detail(Code::MalformedRequest, detail)
}

fn read(line: &str) -> Option<ChosenKey> {
    let line = line.trim_matches([' ', '\t']);
    let text = match line.strip_prefix('"') {
        Some(quoted) => unquoted(quoted)?,
        // A proxy may join two lines to one list, which must not count as a third key.
        None if line.contains([' ', ',', ';', '"', '\\']) => return None,
        None => line.to_owned(),
    };
    ChosenKey::parse(&text).ok()
}

/// A string of structured fields (RFC 9651 §4.2.5), after its first quotation mark. Parameters are none.
fn unquoted(quoted: &str) -> Option<String> {
    let mut text = String::new();
    let mut letters = quoted.chars();
    loop {
        match letters.next()? {
            '"' => return letters.as_str().is_empty().then_some(text),
            '\\' => text.push(letters.next().filter(|next| matches!(next, '"' | '\\'))?),
            letter => text.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use keyward_domain::keys::ChosenKey;

    use super::read;

    #[test]
    fn quoted_and_bare_idempotency_keys_are_the_same() {
        let same = [
            ("8e03978e-40d5", "8e03978e-40d5"),
            ("\"8e03978e-40d5\"", "8e03978e-40d5"),
            (" a\t", "a"),
            ("\"a b, c; d\"", "a b, c; d"),
            ("\"\\\"\\\\\"", "\"\\"),
            ("KG5LxwFBepaKHyUD/+=", "KG5LxwFBepaKHyUD/+="),
        ];
        for (line, text) in same {
            assert_eq!(read(line), ChosenKey::parse(text).ok(), "{line:?}");
            assert!(read(line).is_some(), "{line:?}");
        }
        let longest = "a".repeat(255);
        assert!(read(&longest).is_some());
        assert_eq!(read(&format!("\"{longest}\"")), read(&longest));
    }

    #[test]
    fn invalid_idempotency_key_is_refused() {
        let (long, quoted) = ("a".repeat(256), format!("\"{}\"", "a".repeat(256)));
        for line in [
            "",
            "\"\"",
            "\"",
            "\"a",
            "a\"",
            "a\"b",
            "\"a\"b",
            "\"a\";p=1",
            "\"a\", \"b\"",
            "a, b",
            "a b",
            "a;b",
            "a\\b",
            "\"\\a\"",
            "\"\\",
            "a\tb",
            "\"a\tb\"",
            "\"\u{7f}\"",
            "é",
            &long,
            &quoted,
        ] {
            assert_eq!(read(line), None, "{line:?}");
        }
    }
}

//! How forms and queries encode text: `application/x-www-form-urlencoded`.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use zeroize::Zeroizing;

/// Decodes a form-encoded text; `None` if it is malformed.
pub(crate) fn form_decoded(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains(['%', '+']) {
        return Some(Cow::Borrowed(text));
    }
    if !is_percent_encoded(text) {
        return None;
    }
    let spaced = Zeroizing::new(text.replace('+', " "));
    let decoded = percent_decode_str(&spaced).decode_utf8().ok()?;
    Some(Cow::Owned(decoded.into_owned()))
}

/// Whether two hexadecimal digits follow each `%` (RFC 3986 §2.1). The decoder would leave others unchanged.
pub(super) fn is_percent_encoded(query: &str) -> bool {
    let mut escapes = query.split('%').skip(1);
    escapes.all(|rest| {
        let digits = rest.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

#[cfg(test)]
mod tests {
    use super::form_decoded;

    #[test]
    fn form_decoding_is_strict() {
        for (text, decoded) in [
            ("", Some("")),
            ("kwp_1", Some("kwp_1")),
            ("a+b%20c", Some("a b c")),
            ("%C3%A4", Some("ä")),
            ("%e4", None),
            ("%", None),
            ("%4", None),
            ("%zz", None),
        ] {
            assert_eq!(form_decoded(text).as_deref(), decoded, "{text}");
        }
    }
}

//! The headers on every answer, errors included.

use poem::http::{HeaderMap, HeaderName, HeaderValue, header};

/// An answer that is no page loads, frames and submits nothing.
const NO_PAGE: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
);

/// A year, for this host only: its subdomains may have services without TLS.
const STRICT_TRANSPORT: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// An answer that is no page needs no `Referer` elsewhere.
const NO_REFERRER: HeaderValue = HeaderValue::from_static("no-referrer");

static ALWAYS: [(HeaderName, HeaderValue); 5] = [
    (
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    ),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (
        HeaderName::from_static("permissions-policy"),
        HeaderValue::from_static(
            "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
        ),
    ),
];

/// Headers that an adapter may set for a page of its own.
static UNLESS_CHOSEN: [(HeaderName, HeaderValue); 2] = [
    (header::CONTENT_SECURITY_POLICY, NO_PAGE),
    (header::REFERRER_POLICY, NO_REFERRER),
];

/// The headers on every answer.
#[derive(Debug)]
pub(crate) struct SecurityHeaders {
    https: bool,
}

impl SecurityHeaders {
    pub(crate) const fn new(https: bool) -> Self {
        Self { https }
    }

    /// Sets the headers, but for the policies that the application has chosen.
    pub(crate) fn set(&self, headers: &mut HeaderMap) {
        headers.remove(header::SERVER);
        // Room for these and for the headers that the front door adds, so that the map grows once.
        headers.reserve(ALWAYS.len() + UNLESS_CHOSEN.len() + 3);
        for (name, value) in &ALWAYS {
            headers.insert(name, value.clone());
        }
        if self.https {
            headers.insert(header::STRICT_TRANSPORT_SECURITY, STRICT_TRANSPORT);
        }
        for (name, value) in &UNLESS_CHOSEN {
            headers.entry(name).or_insert_with(|| value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(https: bool, own: &[(HeaderName, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in own {
            headers.append(name.clone(), HeaderValue::from_static(value));
        }
        SecurityHeaders::new(https).set(&mut headers);
        headers
    }

    #[test]
    fn only_two_policies_are_the_applications_to_choose() {
        let headers = set(
            false,
            &[
                (header::X_FRAME_OPTIONS, "SAMEORIGIN"),
                (header::SERVER, "poem"),
                (header::REFERRER_POLICY, "same-origin"),
            ],
        );
        assert_eq!(headers[header::X_FRAME_OPTIONS], "DENY");
        assert_eq!(headers[header::REFERRER_POLICY], "same-origin");
        assert_eq!(headers[header::CONTENT_SECURITY_POLICY], NO_PAGE);
        assert!(!headers.contains_key(header::SERVER));
        assert!(!headers.contains_key(header::STRICT_TRANSPORT_SECURITY));
        assert_eq!(
            set(true, &[])[header::STRICT_TRANSPORT_SECURITY],
            STRICT_TRANSPORT
        );
    }

    #[test]
    fn repeated_header_of_the_application_keeps_every_value() {
        let cookies = [
            (header::SET_COOKIE, "a=1"),
            (header::SET_COOKIE, "b=2"),
            (header::VARY, "accept"),
            (header::SET_COOKIE, "c=3"),
        ];
        let headers = set(false, &cookies);
        let values: Vec<_> = headers.get_all(header::SET_COOKIE).iter().collect();
        assert_eq!(values, ["a=1", "b=2", "c=3"]);
        assert_eq!(headers[header::VARY], "accept");
    }
}

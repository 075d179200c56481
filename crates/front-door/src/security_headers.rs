//! The headers on every answer, errors included.

use poem::http::{HeaderMap, HeaderName, HeaderValue, header};

/// An answer that is no page loads, frames and submits nothing.
const NO_PAGE: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
);

/// A year, for this host only: what runs on its subdomains is not ours to decide.
const STRICT_TRANSPORT: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// An answer that is no page has no reason to tell another place about itself.
const NO_REFERRER: HeaderValue = HeaderValue::from_static("no-referrer");

const ALWAYS: [(HeaderName, HeaderValue); 5] = [
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

/// The headers on every answer.
#[derive(Debug)]
pub(crate) struct SecurityHeaders(HeaderMap);

impl SecurityHeaders {
    pub(crate) fn new(https: bool) -> Self {
        let mut headers = HeaderMap::from_iter(ALWAYS);
        if https {
            headers.insert(header::STRICT_TRANSPORT_SECURITY, STRICT_TRANSPORT);
        }
        headers.insert(header::CONTENT_SECURITY_POLICY, NO_PAGE);
        headers.insert(header::REFERRER_POLICY, NO_REFERRER);
        Self(headers)
    }

    /// Sets them, whatever the application said, but for the two policies that a page may need otherwise: what it loads,
    /// and what its own forms say of where they come from (under `no-referrer` their `Origin` is `null`).
    pub(crate) fn set(&self, headers: &mut HeaderMap) {
        // The few headers of the application are added to a copy of these, which is cheaper than the other way round.
        let own = std::mem::replace(headers, self.0.clone());
        let mut latest = None;
        for (name, value) in own {
            // Of a header's values, only the first comes with its name.
            let is_first = name.is_some();
            latest = name.or(latest);
            match &latest {
                Some(name) if *name == header::SERVER || self.is_fixed(name) => {}
                Some(name) if is_first => _ = headers.insert(name.clone(), value),
                Some(name) => _ = headers.append(name.clone(), value),
                None => {}
            }
        }
    }

    fn is_fixed(&self, name: &HeaderName) -> bool {
        *name != header::CONTENT_SECURITY_POLICY
            && *name != header::REFERRER_POLICY
            && self.0.contains_key(name)
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

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

/// Sets them, whatever the application said, but for the two policies that a page may need otherwise: what it loads,
/// and what its own forms say of where they come from (under `no-referrer` their `Origin` is `null`).
pub(crate) fn set(headers: &mut HeaderMap, https: bool) {
    for (name, value) in ALWAYS {
        headers.insert(name, value);
    }
    if https {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, STRICT_TRANSPORT);
    }
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(NO_PAGE);
    headers.entry(header::REFERRER_POLICY).or_insert(NO_REFERRER);
    headers.remove(header::SERVER);
}

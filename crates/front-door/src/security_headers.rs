//! The headers on every answer, errors included.

use poem::http::{HeaderMap, HeaderName, HeaderValue, header};

/// An answer that is no page loads, frames and submits nothing.
const NO_PAGE: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
);

/// A year, for this host only: what runs on its subdomains is not ours to decide.
const STRICT_TRANSPORT: HeaderValue = HeaderValue::from_static("max-age=31536000");

const ALWAYS: [(HeaderName, HeaderValue); 6] = [
    (
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    ),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
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

/// Sets them, whatever the application said, but for a `Content-Security-Policy` of its own.
pub(crate) fn set(headers: &mut HeaderMap, https: bool) {
    for (name, value) in ALWAYS {
        headers.insert(name, value);
    }
    if https {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, STRICT_TRANSPORT);
    }
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(NO_PAGE);
    headers.remove(header::SERVER);
}

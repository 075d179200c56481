//! Headers of every console response, including errors and redirects.

use poem::http::{HeaderMap, HeaderValue, header};

/// Allows only files of this server: no inline script or style, no frames, no forms to other servers.
const CONTENT_SECURITY_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
     connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
);

/// `no-referrer` would turn the `Origin` of our own forms into `null` (Fetch §3.2), which older browsers have nothing
/// else to prove themselves with.
const REFERRER_POLICY: HeaderValue = HeaderValue::from_static("same-origin");

/// For URLs with the secret of an invitation or of the first run: browsers send only the origin in `Referer`, also when
/// they load the page's assets, so that no proxy logs the secret. `Origin` is not affected.
const REFERRER_POLICY_FOR_SECRETS: HeaderValue = HeaderValue::from_static("strict-origin");

/// Sets them, for a page whose URL has a secret or for any other. The front door adds those that every answer of
/// Keyward has.
pub(crate) fn set(headers: &mut HeaderMap, has_secret: bool) {
    headers.insert(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY);
    let policy = if has_secret {
        REFERRER_POLICY_FOR_SECRETS
    } else {
        REFERRER_POLICY
    };
    headers.insert(header::REFERRER_POLICY, policy);
    // Pages are private and change; only assets say otherwise.
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
}

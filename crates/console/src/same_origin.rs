//! Which requests come from the console's own pages (cross-site request forgery, CWE-352).

use keyward_domain::public_url::PublicUrl;
use poem::Request;
use poem::http::{HeaderMap, HeaderName, Method, header};

/// The relation between the request's initiator and its target (W3C Fetch Metadata §2.3); no page can set or remove it.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Whether a request is allowed: its method is safe, or it comes from a page of this installation.
///
/// Browsers say so in `Sec-Fetch-Site`; older ones without it in `Origin`. A request with neither is refused: it is not
/// from a form. Sign-in and setup are no exceptions, or a stranger's site could sign a visitor in to the stranger's
/// account.
pub(crate) fn is_allowed(request: &Request, public_url: &PublicUrl) -> bool {
    is_safe(request.method()) || is_same_origin(request.headers(), public_url)
}

/// Methods that change nothing (RFC 9110 §9.2.1), here as everywhere.
fn is_safe(method: &Method) -> bool {
    *method == Method::GET || *method == Method::HEAD || *method == Method::OPTIONS
}

/// Whether the request comes from a page of another site, whose link must not make an owner's browser write an audit
/// event. A typed URL, and a browser that does not report the site, do not count as another site.
pub(crate) fn is_cross_site(request: &Request, public_url: &PublicUrl) -> bool {
    let headers = request.headers();
    let names_no_site = headers.get_all(SEC_FETCH_SITE).iter().all(|site| site == "none");
    !names_no_site && !is_same_origin(headers, public_url)
}

fn is_same_origin(headers: &HeaderMap, public_url: &PublicUrl) -> bool {
    let only = |name: HeaderName| {
        let mut values = headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (None, _) => Ok(None),
            (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
            (Some(_), Some(_)) => Err(()),
        }
    };
    match only(SEC_FETCH_SITE) {
        Ok(Some(site)) => site == "same-origin",
        Ok(None) => {
            matches!(only(header::ORIGIN), Ok(Some(origin)) if public_url.is_origin(origin))
        }
        Err(()) => false,
    }
}

//! Which requests are accepted.

use hyper::body::Body;
use poem::http::{HeaderMap, Method, Request, Version, header};

use crate::{config::FrontDoorConfig, refusal::RefusalReason};

/// Refuses requests that no application should get.
pub(crate) fn admit(request: &Request<impl Body>, config: &FrontDoorConfig) -> Result<(), RefusalReason> {
    if request.headers().len() > config.limits.headers {
        return Err(RefusalReason::TooManyHeaders);
    }
    if !has_valid_host(request.version(), request.headers()) {
        return Err(RefusalReason::InvalidHost);
    }
    if !has_known_transfer_coding(request.headers()) {
        return Err(RefusalReason::UnknownTransferCoding);
    }
    // The announced length; a chunked body is counted while it is read.
    if request.body().size_hint().lower() > config.most_body_bytes(request.uri().path()) as u64 {
        return Err(RefusalReason::BodyTooLarge);
    }
    if is_refused_everywhere(request.method()) {
        return Err(RefusalReason::MethodNotAllowed);
    }
    Ok(())
}

/// TRACE would echo credentials, CONNECT would make this a proxy.
fn is_refused_everywhere(method: &Method) -> bool {
    matches!(*method, Method::TRACE | Method::CONNECT)
}

/// Whether the body is chunked once and not coded otherwise, or has no transfer coding (RFC 9112 §6.1 and
/// §7). hyper looks at the last coding only, and would pass on a body that is still coded by the others.
fn has_known_transfer_coding(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => true,
        (Some(coding), None) => coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked"),
        (Some(_), Some(_)) => false,
    }
}

/// RFC 9112 §3.2, stricter: a registered name has letters, digits, `-`, `.` and `_` only, so that a comma
/// (two headers folded into one), a path or a user name is no host. HTTP/1.0 needs no `Host`, and health
/// checks of load balancers (HAProxy's `option httpchk`) send none. Nothing behind the front door reads it.
fn has_valid_host(version: Version, headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host,
        (None, _) => return version == Version::HTTP_10,
        (Some(_), Some(_)) => return false,
    };
    let host = host.as_bytes();
    !host.is_empty()
        && host.iter().all(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b':' | b'[' | b']')
        })
}

#[cfg(test)]
mod tests {
    use poem::http::HeaderValue;

    use super::*;

    fn admits(hosts: &[&'static [u8]]) -> bool {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.extend(HeaderValue::from_bytes(host).map(|host| (header::HOST, host)));
        }
        has_valid_host(Version::HTTP_11, &headers)
    }

    #[test]
    fn request_with_one_host_is_accepted() {
        for host in [
            "localhost",
            "127.0.0.1:8080",
            "[::1]:8080",
            "keys.example.com",
            "keyward_1.internal",
        ] {
            assert!(admits(&[host.as_bytes()]), "{host}");
        }
    }

    #[test]
    fn only_http_1_0_may_omit_host() {
        let none = HeaderMap::new();
        assert!(has_valid_host(Version::HTTP_10, &none));
        assert!(!has_valid_host(Version::HTTP_11, &none));
    }

    #[test]
    fn missing_repeated_or_invalid_host_is_rejected() {
        assert!(!admits(&[]));
        assert!(!admits(&[b"a.example", b"a.example"]));
        for host in [
            "",
            "a.example, b.example",
            "a.example/path",
            "user@a.example",
            "a example",
            "<script>",
            "\u{e4}",
        ] {
            assert!(!admits(&[host.as_bytes()]), "{host}");
        }
    }
}

//! The URL of the collector.

use std::fmt;
use std::str::FromStr;

use poem::http::Uri;

/// The path of traces in OTLP over HTTP, below the URL of a collector.
const PATH: &str = "/v1/traces";

/// The address to which traces are sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    is_https: bool,
    host: String,
    port: u16,
    path: String,
}

/// Why a text is none. It is not repeated, because it may hold a password.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InvalidEndpoint {
    #[error("expected a URL such as `http://127.0.0.1:4318`")]
    NoUrl,
    #[error(
        "the URL must begin with `http://` or `https://`: the protocol is OTLP over HTTP, and gRPC is not supported"
    )]
    Scheme,
    #[error("the URL must have no user and no password: put an `Authorization` into --otlp-headers-file")]
    Credentials,
    #[error("the URL must have no query")]
    Query,
}

impl Endpoint {
    pub(crate) const fn is_https(&self) -> bool {
        self.is_https
    }

    /// A name or an address, without the brackets that IPv6 has in URLs.
    pub(crate) fn host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The value of the header `Host`.
    pub(crate) fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_https { "https" } else { "http" };
        write!(formatter, "{scheme}://{}{}", self.authority(), self.path)
    }
}

impl FromStr for Endpoint {
    type Err = InvalidEndpoint;

    fn from_str(text: &str) -> Result<Self, InvalidEndpoint> {
        let url: Uri = text.parse().map_err(|_| InvalidEndpoint::NoUrl)?;
        let authority = url.authority().ok_or(InvalidEndpoint::NoUrl)?;
        let (is_https, default_port) = match url.scheme_str() {
            Some("http") => (false, 80),
            Some("https") => (true, 443),
            Some(_) => return Err(InvalidEndpoint::Scheme),
            None => return Err(InvalidEndpoint::NoUrl),
        };
        if authority.as_str().contains('@') {
            return Err(InvalidEndpoint::Credentials);
        }
        if url.query().is_some() {
            return Err(InvalidEndpoint::Query);
        }
        // Neither an empty port nor one beyond 65535 is a port.
        let port = match authority.as_str().strip_prefix(authority.host()) {
            Some("") => default_port,
            _ => authority.port_u16().ok_or(InvalidEndpoint::NoUrl)?,
        };
        let base = url.path().trim_end_matches('/');
        let path = if base.ends_with(PATH) {
            base.to_owned()
        } else {
            format!("{base}{PATH}")
        };
        Ok(Self {
            is_https,
            host: authority.host().to_owned(),
            port,
            path,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoint_is_a_collectors_url_with_the_path_for_traces() {
        for (text, url, host) in [
            (
                "http://127.0.0.1:4318",
                "http://127.0.0.1:4318/v1/traces",
                "127.0.0.1",
            ),
            ("http://otel:4318/", "http://otel:4318/v1/traces", "otel"),
            ("http://otel:4318/v1/traces", "http://otel:4318/v1/traces", "otel"),
            (
                "https://otel.example.com/otlp",
                "https://otel.example.com:443/otlp/v1/traces",
                "otel.example.com",
            ),
            ("http://otel", "http://otel:80/v1/traces", "otel"),
            ("http://[::1]:4318", "http://[::1]:4318/v1/traces", "::1"),
        ] {
            let endpoint: Endpoint = text.parse().unwrap();
            assert_eq!((endpoint.to_string().as_str(), endpoint.host()), (url, host));
        }
    }

    #[test]
    fn invalid_endpoint_is_refused_without_repeating_it() {
        for text in [
            "",
            "otel:4318",
            "127.0.0.1:4318",
            "grpc://otel:4317",
            "http://",
            "http://me:s3cret@otel:4318",
            "http://otel:4318/?key=s3cret",
            "http://otel:99999",
            "http://otel:",
            "http://ot el:4318",
        ] {
            let refused = text.parse::<Endpoint>().unwrap_err().to_string();
            assert!(!refused.contains("s3cret"), "{refused}");
        }
    }
}

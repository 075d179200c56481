//! The public URL, and its default.

use std::net::SocketAddr;

use keyward_domain::public_url::{InvalidPublicUrl, PublicUrl};

/// Why there is no public URL.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PublicUrlError {
    /// The URL itself is not shown: it may hold a password.
    #[error("the public URL (--public-url, KEYWARD_PUBLIC_URL) is refused")]
    Refused(#[from] InvalidPublicUrl),
    #[error(
        "{listening_on} is reached from other machines, and plain HTTP is for this machine only: set --public-url (or \
         KEYWARD_PUBLIC_URL) to the https address of the proxy in front of it"
    )]
    Needed { listening_on: SocketAddr },
}

/// Reads what the administrator set.
pub(crate) fn given(text: &str) -> Result<PublicUrl, PublicUrlError> {
    Ok(PublicUrl::parse(text)?)
}

/// The listening address as a person on the same machine writes it.
pub(crate) fn of_listener(listening_on: SocketAddr) -> Result<PublicUrl, PublicUrlError> {
    let url = if listening_on.ip().is_unspecified() {
        format!("http://localhost:{}", listening_on.port())
    } else {
        format!("http://{listening_on}")
    };
    PublicUrl::parse(&url).map_err(|_| PublicUrlError::Needed { listening_on })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(address: &str) -> Result<String, String> {
        of_listener(address.parse().unwrap())
            .map(|url| url.as_str().to_owned())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn local_listener_url_is_its_address() {
        assert_eq!(of("127.0.0.1:8080").unwrap(), "http://127.0.0.1:8080");
        assert_eq!(of("[::1]:8080").unwrap(), "http://[::1]:8080");
    }

    #[test]
    fn wildcard_listener_url_is_localhost() {
        assert_eq!(of("0.0.0.0:8080").unwrap(), "http://localhost:8080");
        assert_eq!(of("[::]:8080").unwrap(), "http://localhost:8080");
    }

    #[test]
    fn non_local_listener_requires_a_public_url() {
        let message = of("192.168.1.2:8080").unwrap_err();
        assert!(message.contains("set --public-url"), "{message}");
    }

    #[test]
    fn rejected_url_is_not_shown() {
        let error = given("https://me:s3cret@host").unwrap_err();
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }
}

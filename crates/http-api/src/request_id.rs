//! Which request this is, and where it came from.

use std::net::IpAddr;

use keyward_domain::audit::RequestSource;
use poem::{FromRequest, Request, RequestBody};

/// The request's id. The front door sets this header and lets no client's own value pass.
pub(crate) fn request_id(request: &Request) -> &str {
    request.header("x-request-id").unwrap_or_default()
}

/// The client's address, as the front door found it out.
pub(crate) fn client_address(request: &Request) -> Option<IpAddr> {
    request.remote_addr().as_socket_addr().map(|address| address.ip())
}

/// Where a request came from, for the audit log.
pub(crate) struct Source(pub(crate) RequestSource);

impl<'a> FromRequest<'a> for Source {
    async fn from_request(request: &'a Request, _body: &mut RequestBody) -> poem::Result<Self> {
        Ok(Self(RequestSource {
            address: client_address(request),
            request_id: Some(request_id(request).to_owned()),
        }))
    }
}

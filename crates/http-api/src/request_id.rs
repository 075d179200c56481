//! The request id, and the source of a request.

use std::net::IpAddr;

use keyward_domain::audit::RequestSource;
use poem::http::{HeaderName, HeaderValue};
use poem::{FromRequest, Request, RequestBody};

/// The header with the request id. The front door sets it and discards the client's value.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The id that the front door gave the request; empty if there is none.
pub(crate) fn request_id(request: &Request) -> &str {
    request.headers().get(REQUEST_ID).map_or("", as_text)
}

/// A request id, which is text, in its header.
pub(crate) fn as_text(id: &HeaderValue) -> &str {
    id.to_str().unwrap_or_default()
}

/// The client's IP address, as determined by the front door.
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

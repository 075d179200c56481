//! Where a request came from, for the audit log.

use keyward_domain::audit::RequestSource;
use poem::Request;
use poem::web::RemoteAddr;
use poem::{FromRequest, RequestBody};

/// Set by the front door on every request; never the client's.
const REQUEST_ID: &str = "x-request-id";

/// The name of this request, as people can quote it; empty without a front door.
pub(crate) fn request_id(request: &Request) -> &str {
    request.header(REQUEST_ID).unwrap_or_default()
}

/// The extractor for [`RequestSource`].
pub(crate) struct Source(pub(crate) RequestSource);

impl<'a> FromRequest<'a> for Source {
    async fn from_request(request: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        let RemoteAddr(address) = request.remote_addr();
        Ok(Self(RequestSource {
            address: address.as_socket_addr().map(|address| address.ip()),
            request_id: Some(request_id(request).to_owned()),
        }))
    }
}

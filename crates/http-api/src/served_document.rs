//! `/openapi.json`: the document with this service's URL, rendered once, plain and gzipped.

use std::io::{self, Write as _};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use poem::http::{StatusCode, header};
use poem::{Endpoint, Request, Response};
use sha2::{Digest, Sha256};

use crate::base_url::BaseUrl;
use crate::document::document_at;
use crate::{entity_tag, json};

/// Serves the document, rendered once when the endpoint is created.
pub(crate) struct ServedDocument {
    plain: Coded,
    /// `None` only if compression failed.
    gzipped: Option<Coded>,
}

/// The document in one content coding, with its own entity tag.
struct Coded {
    /// Shared by all its answers.
    body: Bytes,
    opaque_tag: String,
}

impl ServedDocument {
    pub(crate) fn new(base_url: &BaseUrl) -> Self {
        let plain = document_at(base_url).into_bytes();
        let digest = hex::encode(&Sha256::digest(&plain)[..16]);
        Self {
            gzipped: gzip(&plain).ok().map(|body| Coded {
                body: body.into(),
                opaque_tag: format!("{digest}-gzip"),
            }),
            plain: Coded {
                body: plain.into(),
                opaque_tag: digest,
            },
        }
    }
}

fn gzip(plain: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(plain)?;
    encoder.finish()
}

impl Endpoint for ServedDocument {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        let gzipped = self.gzipped.as_ref().filter(|_| accepts_gzip(&request));
        let chosen = gzipped.unwrap_or(&self.plain);
        let mut response = Response::builder()
            .header(header::ETAG, format!("\"{}\"", chosen.opaque_tag))
            .header(header::VARY, "Accept-Encoding")
            .header(header::CACHE_CONTROL, "no-cache");
        if entity_tag::client_has(&request, &[&chosen.opaque_tag]) {
            return Ok(response.status(StatusCode::NOT_MODIFIED).finish());
        }
        if gzipped.is_some() {
            response = response.header(header::CONTENT_ENCODING, "gzip");
        }
        Ok(response.content_type(json::MEDIA_TYPE).body(chosen.body.clone()))
    }
}

/// Whether the client asks for gzip by name, with a weight above zero (RFC 9110 §12.5.3).
fn accepts_gzip(request: &Request) -> bool {
    let values = request.headers().get_all(header::ACCEPT_ENCODING).iter();
    let mut codings = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    codings.any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let is_gzip = parts
            .next()
            .is_some_and(|name| name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip"));
        let is_refused = parts.any(|parameter| {
            let weight = parameter
                .split_once('=')
                .filter(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
            weight.is_some_and(|(_, weight)| weight.trim().parse() == Ok(0.0_f32))
        });
        is_gzip && !is_refused
    })
}

#[cfg(test)]
mod tests {
    use poem::Request;

    use super::accepts_gzip;

    #[test]
    fn gzip_is_used_when_accepted_by_name() {
        let accepts =
            |value: &str| accepts_gzip(&Request::builder().header("accept-encoding", value).finish());
        for value in ["gzip", "deflate, GZIP;q=0.5", "br, x-gzip", "gzip ; q=1"] {
            assert!(accepts(value), "{value}");
        }
        for value in ["", "identity", "gzip;q=0", "gzip; q=0.000", "br", "*"] {
            assert!(!accepts(value), "{value}");
        }
        assert!(!accepts_gzip(&Request::builder().finish()));
    }
}

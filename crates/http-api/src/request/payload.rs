//! The bytes of a request's body.

use std::io;

use poem::error::ReadBodyError;
use poem::http::header;
use poem::{Request, RequestBody};

use crate::problem::{Code, Problem};

/// The default maximum size of a body, also of a chunked one.
pub(crate) const MAX_BYTES: usize = 64 * 1024;

/// The whole body, if the request says that it is of this media type and not compressed.
///
/// # Errors
/// It is of another type, compressed, too large, or did not arrive.
pub(crate) async fn read(
    request: &Request,
    body: &mut RequestBody,
    media_type: &'static str,
) -> poem::Result<Vec<u8>> {
    read_at_most(MAX_BYTES, request, body, media_type).await
}

/// The same for a body of up to this size.
pub(crate) async fn read_at_most(
    max_bytes: usize,
    request: &Request,
    body: &mut RequestBody,
    media_type: &'static str,
) -> poem::Result<Vec<u8>> {
    if !is_of_type(request, media_type) {
        return Err(Problem::unexpected_media_type(media_type).into());
    }
    if is_coded(request) {
        return Err(Problem::unsupported_content_coding().into());
    }
    let bytes = body.take()?.into_bytes_limit(max_bytes).await;
    Ok(bytes.map_err(unreadable)?.into())
}

/// Whether the media type is this one, with any parameters.
fn is_of_type(request: &Request, expected: &str) -> bool {
    let mut headers = request.headers().get_all(header::CONTENT_TYPE).iter();
    let (Some(value), None) = (headers.next(), headers.next()) else {
        return false;
    };
    let media_type = value.to_str().ok().and_then(|value| value.split(';').next());
    media_type.is_some_and(|media_type| media_type.trim().eq_ignore_ascii_case(expected))
}

/// Whether the body has a content coding, which is refused, since bodies are never decoded.
fn is_coded(request: &Request) -> bool {
    let codings = request.headers().get_all(header::CONTENT_ENCODING).iter();
    codings
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .any(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity"))
}

fn unreadable(error: ReadBodyError) -> Problem {
    match error {
        ReadBodyError::PayloadTooLarge => Code::BodyTooLarge.into(),
        ReadBodyError::Io(error) => match error.kind() {
            io::ErrorKind::TimedOut => Code::RequestTimeout.into(),
            io::ErrorKind::FileTooLarge => Code::BodyTooLarge.into(),
            _ => Problem::with_detail(Code::MalformedRequest, "The body did not arrive as a whole."),
        },
        ReadBodyError::Utf8(_) => Code::MalformedRequest.into(),
        ReadBodyError::BodyHasBeenTaken => Problem::internal(error),
    }
}

//! The bytes of a request's body.

use std::io;

use poem::error::ReadBodyError;
use poem::http::header;
use poem::{Body, FromRequest, Request, RequestBody};
use tokio::io::AsyncReadExt;

use crate::problem::{Code, Problem};

/// The default maximum size of a body, also of a chunked one.
const MAX_BYTES: usize = 64 * 1024;

/// Refuses every body that is not empty: `descendants` in the body of a revocation, where other APIs take it, must not
/// leave keys valid.
pub(crate) struct NoBody;

impl<'a> FromRequest<'a> for NoBody {
    async fn from_request(_request: &'a Request, body: &mut RequestBody) -> poem::Result<Self> {
        // A chunked body has no length to go by.
        let first = body.take()?.into_async_read().read(&mut [0]).await;
        if let Ok(0) = first {
            return Ok(Self);
        }
        let detail = "This operation has no body. Its options are query parameters.";
        Err(Problem::with_detail(Code::MalformedRequest, detail).into())
    }
}

/// The whole body, if the request says that it is of this media type and not compressed.
///
/// # Errors
/// It is of another type, compressed, too large, or did not arrive.
pub(crate) async fn read(
    request: &Request,
    body: &mut RequestBody,
    media_type: &'static str,
) -> poem::Result<Vec<u8>> {
    check_type(request, media_type)?;
    read_all(body.take()?).await
}

/// The same; `None` without a body, or with an empty one of any type.
pub(crate) async fn read_if_any(
    request: &Request,
    body: &mut RequestBody,
    media_type: &'static str,
) -> poem::Result<Option<Vec<u8>>> {
    let bytes = read_all(body.take()?).await?;
    if bytes.is_empty() {
        return Ok(None);
    }
    check_type(request, media_type)?;
    Ok(Some(bytes))
}

async fn read_all(body: Body) -> poem::Result<Vec<u8>> {
    let bytes = body.into_bytes_limit(MAX_BYTES).await;
    Ok(bytes.map_err(unreadable)?.into())
}

/// Like [`read`], for a body of up to `max_bytes`. Takes `room` for one that is larger than others may be, once it turns out to be.
pub(crate) async fn read_larger<Room>(
    max_bytes: usize,
    request: &Request,
    body: &mut RequestBody,
    media_type: &'static str,
    room: impl FnOnce() -> Result<Room, Problem>,
) -> poem::Result<(Vec<u8>, Option<Room>)> {
    let unreadable = |error| unreadable(ReadBodyError::Io(error));
    check_type(request, media_type)?;
    let mut body = body.take()?.into_async_read().take(MAX_BYTES as u64 + 1);
    let mut bytes = Vec::new();
    body.read_to_end(&mut bytes).await.map_err(unreadable)?;
    if bytes.len() <= MAX_BYTES {
        return Ok((bytes, None));
    }
    let room = room()?;
    // One more than may be shows that it is too large.
    body.set_limit((max_bytes - MAX_BYTES) as u64);
    body.read_to_end(&mut bytes).await.map_err(unreadable)?;
    if bytes.len() > max_bytes {
        return Err(Problem::from(Code::BodyTooLarge).into());
    }
    Ok((bytes, Some(room)))
}

fn check_type(request: &Request, media_type: &'static str) -> Result<(), Problem> {
    if !is_of_type(request, media_type) {
        return Err(Problem::unexpected_media_type(media_type));
    }
    if is_coded(request) {
        return Err(Problem::unsupported_content_coding());
    }
    Ok(())
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

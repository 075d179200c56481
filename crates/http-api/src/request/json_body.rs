//! A request's body: one JSON object.

use std::io;

use keyward_domain::keys::PersonalKeys;
use poem::error::ReadBodyError;
use poem::http::header;
use poem::{Request, RequestBody};
use poem_openapi::registry::{MetaMediaType, MetaRequest, Registry};
use poem_openapi::types::Type;
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};
use serde_json::Value;

use super::{Fields, strict_json};
use crate::json;
use crate::problem::{Code, FieldError, Problem};

/// The maximum size of a body, also of a chunked one.
const MAX_BYTES: usize = 64 * 1024;

/// A request body type, and how to parse it.
pub(crate) trait ReadFields: Type {
    /// The domain type that it is parsed into.
    type Read: Send;

    /// Parses every field, even after an error, so that all errors are found. `None` on error.
    fn read(fields: &mut Fields) -> Option<Self::Read>;
}

/// Extracts a parsed request body.
pub(crate) struct JsonBody<T: ReadFields>(pub(crate) T::Read);

impl<'a, T: ReadFields> ApiExtractor<'a> for JsonBody<T> {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::RequestObject];
    const PARAM_IS_REQUIRED: bool = true;

    type ParamType = ();
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        T::register(registry);
    }

    fn request_meta() -> Option<MetaRequest> {
        Some(MetaRequest {
            description: None,
            content: vec![MetaMediaType {
                content_type: json::MEDIA_TYPE,
                schema: T::schema_ref(),
            }],
            required: true,
        })
    }

    async fn from_request(
        request: &'a Request,
        body: &mut RequestBody,
        _options: ExtractParamOptions<()>,
    ) -> poem::Result<Self> {
        if !is_json(request) {
            return Err(Problem::from(Code::UnsupportedMediaType).into());
        }
        if is_coded(request) {
            return Err(Problem::unsupported_content_coding().into());
        }
        let bytes = body
            .take()?
            .into_bytes_limit(MAX_BYTES)
            .await
            .map_err(unreadable)?;
        let value = strict_json::parse(&bytes).map_err(|error| {
            let detail = format!("The body is not acceptable JSON: {error}.");
            Problem::with_detail(Code::MalformedRequest, detail)
        })?;
        let Value::Object(members) = value else {
            return Err(not_an_object().into());
        };
        let keys = request
            .data::<PersonalKeys>()
            .ok_or_else(|| Problem::internal("the endpoint was built without PersonalKeys"))?;
        let mut fields = Fields::new(members, keys.now());
        let read = T::read(&mut fields);
        Ok(Self(fields.finish(read)?))
    }
}

/// Whether the media type is `application/json`, with any parameters.
fn is_json(request: &Request) -> bool {
    let mut headers = request.headers().get_all(header::CONTENT_TYPE).iter();
    let (Some(value), None) = (headers.next(), headers.next()) else {
        return false;
    };
    let media_type = value.to_str().ok().and_then(|value| value.split(';').next());
    media_type.is_some_and(|media_type| media_type.trim().eq_ignore_ascii_case(json::MEDIA_TYPE))
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

fn not_an_object() -> Problem {
    Problem::invalid_fields(vec![FieldError {
        pointer: String::new(),
        detail: "must be an object".to_owned(),
    }])
}

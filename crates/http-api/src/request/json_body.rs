//! A request's body: one JSON object.

use poem::{Request, RequestBody};
use poem_openapi::registry::{MetaMediaType, MetaRequest, Registry};
use poem_openapi::types::Type;
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};
use serde_json::Value;

use super::{Fields, payload, strict_json};
use crate::json;
use crate::problem::{Code, FieldError, Problem};
use crate::services::Services;

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
        let bytes = payload::read(request, body, json::MEDIA_TYPE).await?;
        let value = strict_json::parse(&bytes).map_err(|error| {
            let detail = format!("The body is not acceptable JSON: {error}.");
            Problem::with_detail(Code::MalformedRequest, detail)
        })?;
        let Value::Object(members) = value else {
            return Err(not_an_object().into());
        };
        let keys = &Services::of(request)?.keys;
        let mut fields = Fields::new(members, keys.now());
        let read = T::read(&mut fields);
        Ok(Self(fields.finish(read)?))
    }
}

fn not_an_object() -> Problem {
    Problem::invalid_fields(vec![FieldError {
        pointer: String::new(),
        detail: "must be an object".to_owned(),
    }])
}

//! A request's body: one JSON object.

use poem::{Request, RequestBody};
use poem_openapi::registry::{MetaMediaType, MetaRequest, Registry};
use poem_openapi::types::Type;
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};
use serde_json::{Map, Value};

use super::{Fields, payload, strict_json};
use crate::json;
use crate::problem::{Code, FieldError, Problem};
use crate::services::Services;

/// A request body type, and how to parse it.
pub(crate) trait ReadFields: Type {
    /// Whether a request may omit the body, which is then like an object without members. Only where no field
    /// is required.
    const MAY_BE_ABSENT: bool = false;

    /// The domain type that it is parsed into.
    type Read: Send;

    /// Parses every field, even after an error, so that all errors are found. `None` on error.
    fn read(fields: &mut Fields) -> Option<Self::Read>;
}

/// Extracts a parsed request body.
pub(crate) struct JsonBody<T: ReadFields>(pub(crate) T::Read);

impl<'a, T: ReadFields> ApiExtractor<'a> for JsonBody<T> {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::RequestObject];
    const PARAM_IS_REQUIRED: bool = !T::MAY_BE_ABSENT;

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
            required: !T::MAY_BE_ABSENT,
        })
    }

    async fn from_request(
        request: &'a Request,
        body: &mut RequestBody,
        _options: ExtractParamOptions<()>,
    ) -> poem::Result<Self> {
        let bytes = if T::MAY_BE_ABSENT {
            payload::read_if_any(request, body, json::MEDIA_TYPE).await?
        } else {
            Some(payload::read(request, body, json::MEDIA_TYPE).await?)
        };
        let members = bytes.map_or_else(|| Ok(Map::new()), |bytes| members_of(&bytes))?;
        let keys = &Services::of(request)?.api.keys;
        let mut fields = Fields::new(members, keys.now());
        let read = T::read(&mut fields);
        Ok(Self(fields.finish(read)?))
    }
}

fn members_of(json: &[u8]) -> Result<Map<String, Value>, Problem> {
    match strict_json::parse(json) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(Problem::invalid_fields(vec![FieldError {
            pointer: String::new(),
            detail: "must be an object".to_owned(),
        }])),
        Err(error) => {
            let detail = format!("The body is not acceptable JSON: {error}.");
            Err(Problem::with_detail(Code::MalformedRequest, detail))
        }
    }
}

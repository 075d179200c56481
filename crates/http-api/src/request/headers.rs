//! Headers of requests.

use poem::{Request, RequestBody};
use poem_openapi::registry::{MetaParamIn, MetaSchema, MetaSchemaRef, Registry};
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};

use crate::problem::Problem;

/// The value of an optional header.
pub(crate) trait ReadHeader: Sized + Send {
    /// Reads the header of a request.
    ///
    /// # Errors
    /// It is malformed.
    fn read(request: &Request) -> Result<Self, Problem>;
}

/// Extracts an optional header. The document declares it as a string.
pub(crate) struct Header<T>(pub(crate) T);

impl<'a, T: ReadHeader> ApiExtractor<'a> for Header<T> {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::Parameter];

    type ParamType = ();
    type ParamRawType = ();

    fn register(_registry: &mut Registry) {}

    fn param_in() -> Option<MetaParamIn> {
        Some(MetaParamIn::Header)
    }

    fn param_schema_ref() -> Option<MetaSchemaRef> {
        Some(MetaSchemaRef::Inline(Box::new(MetaSchema::new("string"))))
    }

    async fn from_request(
        request: &'a Request,
        _body: &mut RequestBody,
        _options: ExtractParamOptions<()>,
    ) -> poem::Result<Self> {
        Ok(Self(T::read(request)?))
    }
}

//! The `If-Match` precondition (RFC 9110 §13.1.1).

use keyward_domain::api_key::{KeyPrecondition, KeyVersion};
use poem::http::header;
use poem::{Request, RequestBody};
use poem_openapi::registry::{MetaParamIn, MetaSchema, MetaSchemaRef, Registry};
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};

use crate::entity_tag::{self, EntityTags, MalformedTags};
use crate::problem::{Code, Problem};

/// Extracts the optional header `If-Match`.
pub(crate) struct IfMatch(pub(crate) KeyPrecondition);

impl<'a> ApiExtractor<'a> for IfMatch {
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
        match entity_tag::read(request, &header::IF_MATCH) {
            // `*` requires that the key exists, and a missing key is answered with 404 anyway.
            Ok(None | Some(EntityTags::Any)) => Ok(Self(KeyPrecondition::AnyVersion)),
            Ok(Some(EntityTags::OneOf(tags))) => Ok(Self(KeyPrecondition::OneOf(versions(&tags)))),
            Err(MalformedTags) => {
                let detail = "The header `If-Match` must be `*` or a list of entity tags, each in quotation marks, as \
                              the header `ETag` of an answer has them.";
                Err(Problem::with_detail(Code::MalformedRequest, detail).into())
            }
        }
    }
}

/// The versions named by tags. Weak tags never match (strong comparison), nor do tags in an unknown format.
fn versions(tags: &[(String, bool)]) -> Vec<KeyVersion> {
    let strong = tags.iter().filter(|(_, is_weak)| !is_weak);
    strong
        .filter_map(|(tag, _)| KeyVersion::parse(tag).ok())
        .collect()
}

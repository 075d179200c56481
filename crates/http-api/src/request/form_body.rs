//! A request's body: one form (`application/x-www-form-urlencoded`), as OAuth's endpoints take it.
//!
//! As OAuth demands (RFC 6749 §3.1 and §3.2), no parameter may be repeated, one without a value counts as
//! absent, and unknown ones are ignored.

use std::collections::BTreeMap;

use poem::{Request, RequestBody};
use poem_openapi::registry::{MetaMediaType, MetaRequest, Registry};
use poem_openapi::types::Type;
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};
use zeroize::Zeroizing;

use super::form_encoding::form_decoded;
use super::payload;
use crate::problem::Problem;

/// As introspection requests have it (RFC 7662, section 2.1).
const MEDIA_TYPE: &str = "application/x-www-form-urlencoded";

/// A form's type, and how to read it.
pub(crate) trait ReadForm: Type {
    /// The type of the result.
    type Read: Send;

    /// Reads the parameters that matter.
    ///
    /// # Errors
    /// One is missing.
    fn read(form: &Form) -> Result<Self::Read, Problem>;
}

/// The parameters of a form that have a value.
pub(crate) struct Form(BTreeMap<String, Zeroizing<String>>);

impl Form {
    /// A required parameter.
    ///
    /// # Errors
    /// It is absent or empty.
    pub(crate) fn required(&self, name: &str) -> Result<&str, Problem> {
        let value = self.0.get(name).map(|value| value.as_str());
        value.ok_or_else(|| {
            Problem::malformed_form(format!("The form has no parameter `{name}`, or no value for it."))
        })
    }

    fn parse(body: &[u8]) -> Result<Self, Problem> {
        let text =
            std::str::from_utf8(body).map_err(|_| Problem::malformed_form("The form is not UTF-8."))?;
        let mut parameters = BTreeMap::new();
        // Not `pair.is_empty()`, which is poem-openapi's of a reference, and always false.
        for pair in text.split('&').filter(|pair| !str::is_empty(pair)) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Some(name), Some(value)) = (form_decoded(name), form_decoded(value)) else {
                return Err(Problem::malformed_form(
                    "The form is not percent-encoded UTF-8: write `%25` for a percent sign.",
                ));
            };
            let value = Zeroizing::new(value.into_owned());
            if parameters.insert(name.into_owned(), value).is_some() {
                return Err(Problem::malformed_form(
                    "A parameter of the form is given more than once.",
                ));
            }
        }
        parameters.retain(|_, value| !value.is_empty());
        Ok(Self(parameters))
    }
}

pub(crate) struct FormBody<T: ReadForm>(pub(crate) T::Read);

impl<'a, T: ReadForm> ApiExtractor<'a> for FormBody<T> {
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
                content_type: MEDIA_TYPE,
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
        let bytes = Zeroizing::new(payload::read(request, body, MEDIA_TYPE).await?);
        Ok(Self(T::read(&Form::parse(&bytes)?)?))
    }
}

#[cfg(test)]
mod tests {
    use super::Form;

    #[test]
    fn form_yields_each_parameter_with_a_value_once() {
        let required = |body: &str, name: &str| {
            let form = Form::parse(body.as_bytes()).ok()?;
            form.required(name).map(str::to_owned).ok()
        };
        for body in [
            "token=x",
            "&token=x&&",
            "other=1&token=%78",
            "%74oken=x&token_type_hint",
        ] {
            assert_eq!(required(body, "token").as_deref(), Some("x"), "{body}");
        }
        for body in [
            "",
            "token",
            "token=",
            "Token=x",
            "token=x&token=x",
            "token=x&token=",
            "token=%",
            "a=1&a=2&token=x",
        ] {
            assert_eq!(required(body, "token"), None, "{body}");
        }
    }
}

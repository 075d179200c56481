//! Query parameters: unknown, repeated and invalid ones are refused.

use std::borrow::Cow;
use std::collections::BTreeSet;

use poem::{FromRequest, Request, RequestBody};
use poem_openapi::registry::{MetaParamIn, MetaSchema, MetaSchemaRef, Registry};
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};

use super::form_encoding::{form_decoded, is_percent_encoded};
use crate::problem::{Code, Problem};

/// A type of query parameters.
pub(crate) trait QueryValue: Sized + Send {
    /// The name of its schema in the document. Enums have one, so that generated clients have one type for
    /// each.
    const NAME: Option<&'static str> = None;

    /// Its schema in the document.
    fn schema() -> MetaSchema;

    /// Reads a value.
    ///
    /// # Errors
    /// The error says what the value must be, in words that can follow the parameter's name.
    fn read(text: &str) -> Result<Self, String>;
}

/// Extracts an optional query parameter.
pub(crate) struct QueryParameter<T>(pub(crate) Option<T>);

impl<'a, T: QueryValue> ApiExtractor<'a> for QueryParameter<T> {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::Parameter];

    type ParamType = ();
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        if let Some(name) = T::NAME {
            registry.create_schema::<T, _>(name.to_owned(), |_| T::schema());
        }
    }

    fn param_in() -> Option<MetaParamIn> {
        Some(MetaParamIn::Query)
    }

    fn param_schema_ref() -> Option<MetaSchemaRef> {
        Some(T::NAME.map_or_else(
            || MetaSchemaRef::Inline(Box::new(T::schema())),
            |name| MetaSchemaRef::Reference(name.to_owned()),
        ))
    }

    async fn from_request(
        request: &'a Request,
        _body: &mut RequestBody,
        options: ExtractParamOptions<()>,
    ) -> poem::Result<Self> {
        let given = pairs(request)?.into_iter().find(|(name, _)| name == options.name);
        let value = given.map(|(name, value)| {
            T::read(&value).map_err(|fault| malformed(format!("The query parameter `{name}` {fault}.")))
        });
        Ok(Self(value.transpose()?))
    }
}

/// The names of the given query parameters.
pub(crate) struct QueryNames(BTreeSet<String>);

impl QueryNames {
    /// Refuses parameters that an operation does not have: a mistyped `descendants` must not leave keys
    /// valid.
    ///
    /// # Errors
    /// An unknown parameter was given.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), Problem> {
        if self.0.iter().all(|name| known.contains(&name.as_str())) {
            return Ok(());
        }
        Err(malformed(if known.is_empty() {
            "This operation has no query parameters.".to_owned()
        } else {
            format!(
                "This operation has only these query parameters: {}.",
                known.join(", ")
            )
        }))
    }
}

impl<'a> FromRequest<'a> for QueryNames {
    async fn from_request(request: &'a Request, _body: &mut RequestBody) -> poem::Result<Self> {
        let mut names = BTreeSet::new();
        for (name, _) in pairs(request)? {
            if !names.insert(name) {
                return Err(malformed("A query parameter is given more than once.".to_owned()).into());
            }
        }
        Ok(Self(names))
    }
}

/// Refuses every query parameter before the body is read: a client that puts a secret into the URL by
/// mistake, and so sends no body, must get this error.
pub(crate) struct NoQuery;

impl<'a> FromRequest<'a> for NoQuery {
    async fn from_request(request: &'a Request, body: &mut RequestBody) -> poem::Result<Self> {
        let names = <QueryNames as FromRequest>::from_request(request, body).await?;
        names.only(&[])?;
        Ok(Self)
    }
}

fn pairs(request: &Request) -> Result<Vec<(String, String)>, Problem> {
    let Some(query) = request.uri().query() else {
        return Ok(Vec::new());
    };
    if !is_percent_encoded(query) {
        let detail =
            "The query has a `%` without two hexadecimal digits after it: write `%25` for a percent sign.";
        return Err(malformed(detail.to_owned()));
    }
    let decoded = |text| {
        let text = form_decoded(text).map(Cow::into_owned);
        text.ok_or_else(|| malformed("The query is not UTF-8.".to_owned()))
    };
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Ok((decoded(name)?, decoded(value)?))
    });
    pairs.collect()
}

pub(crate) fn malformed(detail: String) -> Problem {
    Problem::with_detail(Code::MalformedQuery, detail)
}

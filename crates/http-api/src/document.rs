//! The OpenAPI document: poem-openapi's output, corrected.

mod examples;
mod extensible_enums;
mod headers;
mod normalise;
mod operations;
mod problems;

use poem_openapi::{ContactObject, LicenseObject, OpenApiService, ServerObject};
use serde_json::Value;

use crate::base_url::BaseUrl;
use crate::resources::{API, Api};

/// The version of the API, not of the software that serves it.
const API_VERSION: &str = "1.0.0";

const DESCRIPTION: &str = "\
Keyward issues, verifies and revokes personal API keys for the members of an organization.

Requests are authenticated with an API key as a bearer token; introspection has credentials of its own, and anyone may report \
leaked keys. Create the first key in the console, under \
Organization Settings, API Keys; more keys can be created here. The service that serves this document has its console at `/` \
and a reference at `/docs`, where you can try every operation that takes an API key.

Every error is a problem document (RFC 9457). Switch on its `code`; its `type` is the URL of a page with its \
meaning and what to do. Identifiers are opaque strings. Times are RFC 3339 in UTC. Unknown fields of JSON bodies and unknown query \
parameters are refused. `null` for a nullable field of a request means that it is not set. New operations, optional \
response fields, codes and reasons may be added within version 1: ignore fields and values that you do not know.

Not declared for each operation: a request with too large a header gets 431, one that is not HTTP gets 400, both \
without a body. A proxy in between may return errors of its own.";

/// The OpenAPI document of the API in JSON, as `/openapi.json` serves it: indented, with a line feed at its
/// end.
#[must_use]
pub fn document() -> String {
    document_at(&BaseUrl::default())
}

/// The document with the service's URL in `servers`, which generated clients and importers use.
pub(crate) fn document_at(base_url: &BaseUrl) -> String {
    // Cannot fail: this parses JSON that was just written.
    let mut document: Value = serde_json::from_str(&service().spec()).unwrap_or_default();
    if let Some(url) = base_url.as_str() {
        document["servers"][0]["url"] = Value::from(url);
    }
    normalise::normalise(&mut document);
    extensible_enums::list_known_words(&mut document);
    examples::add_examples(&mut document);
    headers::add_headers(&mut document);
    problems::add_problems(&mut document, base_url);
    format!("{document:#}\n")
}

/// The operations, as poem-openapi serves them.
pub(crate) fn service() -> OpenApiService<Api, ()> {
    OpenApiService::new(API, "Keyward API", API_VERSION)
        .description(DESCRIPTION)
        // A generic contact: readers should ask the administrators of their service.
        .contact(ContactObject::new().name("The administrators of this installation"))
        // The expression has no page of its own; the list has a page for each of its licences.
        .license(LicenseObject::new("MIT OR Apache-2.0").url("https://spdx.org/licenses/"))
        .server(ServerObject::new("/").description("The service that serves this document"))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::document;

    #[test]
    fn only_nullable_fields_are_described_as_null() {
        let document: Value = serde_json::from_str(&document()).unwrap();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let mut described = 0;
        for (schema, definition) in schemas {
            let fields = definition["properties"].as_object().into_iter().flatten();
            for (name, field) in fields {
                let description = field["description"].as_str().unwrap_or_default();
                if description.contains("or `null`") {
                    assert_eq!(field["nullable"], true, "{schema}.{name}");
                    described += 1;
                }
            }
        }
        assert!(described > 4, "{described}");
    }
}

//! The content of the document, on which clients rely.

use std::collections::BTreeSet;
use std::fmt;

use reqwest::Method;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::documented::{Audience, DOCUMENT, conforms, operations, resolved};
use crate::scene::Scene;

/// JSON in which no object repeats a member.
struct NoDuplicates;

impl<'de> Deserialize<'de> for NoDuplicates {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for NoDuplicates {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self, A::Error> {
        let mut names = BTreeSet::new();
        while let Some(name) = object.next_key::<String>()? {
            let _: Self = object.next_value()?;
            if let Some(name) = names.replace(name) {
                return Err(A::Error::custom(format!("{name} is repeated")));
            }
        }
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self, A::Error> {
        while array.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }
}

/// Two structs for one path would make poem-openapi write the path twice, and readers would lose one of them.
/// The visitor knows no null and no fraction either: neither belongs here.
#[test]
fn document_has_no_duplicate_members_and_is_deterministic() {
    let document = keyward_http_api::document();
    if let Err(error) = serde_json::from_str::<NoDuplicates>(&document) {
        panic!("{error}");
    }
    assert!(serde_json::from_str::<IgnoredAny>(&document).is_ok());
    assert!(document.ends_with("}\n"));
    assert_eq!(document, keyward_http_api::document());
}

#[test]
fn every_operation_is_documented_by_name() {
    let found: Vec<String> = operations()
        .iter()
        .map(|operation| format!("{} {} {}", operation.id(), operation.method, operation.template))
        .collect();
    assert_eq!(
        found,
        [
            "createApiKey POST /api/v1/user/api-keys",
            "listApiKeys GET /api/v1/user/api-keys",
            "getApiKey GET /api/v1/user/api-keys/{id}",
            "updateApiKey PATCH /api/v1/user/api-keys/{id}",
            "deleteApiKey DELETE /api/v1/user/api-keys/{id}",
            "rotateApiKey POST /api/v1/user/api-keys/{id}/rotate",
            "listProjects GET /api/v1/user/projects",
            "getProject GET /api/v1/user/projects/{id}",
            "getUser GET /api/v1/user",
            "authenticateRequest GET /api/v1/auth",
            "introspectToken POST /api/v1/introspect",
            "reportLeakedKeys POST /api/v1/leaked-keys",
        ],
        "a new operation has a line here; these names are promised to clients"
    );
    let ids: BTreeSet<&str> = operations().iter().map(|operation| operation.id()).collect();
    assert_eq!(ids.len(), operations().len());
}

#[test]
fn every_operation_documents_audience_and_responses() {
    let every = ["400", "413", "500", "503"];
    let with_body = ["408", "415"];
    for operation in operations() {
        let (id, definition) = (operation.id(), operation.definition);
        assert!(
            definition["summary"].is_string() && definition["description"].is_string(),
            "{id}"
        );
        assert_eq!(definition["tags"].as_array().unwrap().len(), 1, "{id}");
        let responses = definition["responses"].as_object().unwrap();
        let has = |status: &&str| responses.contains_key(*status);
        assert!(every.iter().all(has), "{id}");
        assert!(
            with_body
                .iter()
                .all(|status| has(status) == definition.get("requestBody").is_some()),
            "{id}"
        );
        assert_eq!(has(&"401"), operation.audience() != Audience::Public, "{id}");
        let is_json = definition
            .pointer("/requestBody/content/application~1json")
            .is_some();
        assert_eq!(has(&"422"), is_json, "{id}");
        let may_be_absent =
            operation.template.contains("{id}") || operation.audience() == Audience::Verifiers;
        assert_eq!(has(&"404"), may_be_absent, "{id}");
        assert!(responses.keys().is_sorted(), "{id}");
        for (status, response) in responses {
            assert!(status.parse::<u16>().is_ok(), "{id} {status}");
            let response = resolved(response);
            assert_ne!(response["description"], "", "{id} {status}");
            assert!(
                response.pointer("/headers/X-Request-Id").is_some(),
                "{id} {status}"
            );
        }
    }
    for (name, scheme) in [("bearer", "bearer"), ("verifier", "basic")] {
        assert_eq!(DOCUMENT["components"]["securitySchemes"][name]["scheme"], scheme);
    }
}

/// For generated documentation and mock servers.
#[test]
fn every_body_has_an_example_valid_against_its_schema() {
    for operation in operations() {
        let bodies = operation.definition["responses"]
            .as_object()
            .unwrap()
            .values()
            .map(resolved);
        let contents = bodies.chain(operation.definition.get("requestBody"));
        for content in contents.filter_map(|body| body.get("content")) {
            for media_type in content.as_object().unwrap().values() {
                let schema = &media_type["schema"];
                match media_type.get("examples").and_then(Value::as_object) {
                    Some(examples) => {
                        for example in examples.values() {
                            conforms(&example["value"], schema, operation.id());
                        }
                    }
                    None => conforms(&resolved(schema)["example"], schema, operation.id()),
                }
            }
        }
    }
}

#[test]
fn every_field_and_parameter_has_a_description() {
    for (name, schema) in DOCUMENT["components"]["schemas"].as_object().unwrap() {
        assert!(schema["description"].is_string(), "{name}");
        for (member, schema) in schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            assert!(schema["description"].is_string(), "{name}.{member}");
        }
    }
    for operation in operations() {
        for parameter in operation
            .definition
            .get("parameters")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            assert!(
                parameter["description"].is_string(),
                "{} {}",
                operation.id(),
                parameter["name"]
            );
        }
    }
}

/// Generated clients send defaults along. A cursor carries its filters and refuses others.
#[test]
fn parameters_carried_by_a_cursor_have_no_default() {
    let list = operations()
        .into_iter()
        .find(|operation| operation.id() == "listApiKeys")
        .unwrap();
    for parameter in list.definition["parameters"].as_array().unwrap() {
        let has_default = resolved(&parameter["schema"]).get("default").is_some();
        assert_eq!(has_default, parameter["name"] == "limit", "{parameter}");
    }
}

/// Clients for Go and Java refuse a member that they do not know unless the document says that there may be
/// some. openapi-generator reports an error if the schema of a form says so.
#[test]
fn responses_allow_additional_members_but_requests_do_not() {
    /// The names of a schema and of those in it.
    fn names(schema: &'static Value, found: &mut BTreeSet<&'static str>) {
        if let Some(name) = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
            found.insert(name);
        }
        let schema = resolved(schema);
        let properties = schema["properties"].as_object().into_iter().flatten();
        for member in properties.map(|(_, member)| member).chain(schema.get("items")) {
            names(member, found);
        }
    }
    let mut bodies = BTreeSet::new();
    for operation in operations() {
        let body = operation
            .definition
            .pointer("/requestBody/content/application~1json/schema");
        body.into_iter().for_each(|schema| names(schema, &mut bodies));
    }
    for known in ["CreateApiKeyRequest", "LeakedKeyToken"] {
        assert!(bodies.contains(known), "{bodies:?}");
    }
    for (name, schema) in DOCUMENT["components"]["schemas"].as_object().unwrap() {
        if schema["type"] == "object" {
            let expected = match name.as_str() {
                "IntrospectionRequest" => Value::Null,
                name => Value::from(!bodies.contains(name)),
            };
            assert_eq!(schema["additionalProperties"], expected, "{name}");
        }
    }
}

/// Generators name inline enumerations as they like, and anew when something else changes.
#[test]
fn enumerations_are_named_schemas() {
    fn inline_enumerations(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(object) => {
                if object.contains_key("enum") {
                    found.push(value.to_string());
                }
                object
                    .values()
                    .for_each(|value| inline_enumerations(value, found));
            }
            Value::Array(values) => values.iter().for_each(|value| inline_enumerations(value, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    inline_enumerations(&DOCUMENT["paths"], &mut found);
    for schema in DOCUMENT["components"]["schemas"].as_object().unwrap().values() {
        inline_enumerations(&schema["properties"], &mut found);
    }
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn extensible_enumerations_are_documented_as_such() {
    let schemas = &DOCUMENT["components"]["schemas"];
    let known = |schema: &str, member: &str| {
        let words = &schemas[schema]["properties"][member]["x-extensible-enum"];
        words
            .as_array()
            .unwrap_or_else(|| panic!("{schema}.{member}"))
            .clone()
    };
    assert_eq!(
        known("ApiKey", "revokedReason"),
        ["holder", "owner", "leak", "administrator", "expired", "rotation"]
    );
    let codes = known("Problem", "code");
    for response in DOCUMENT["components"]["responses"].as_object().unwrap().values() {
        let examples = response.pointer("/content/application~1problem+json/examples");
        for code in examples
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(|examples| examples.keys())
        {
            assert!(codes.contains(&code.as_str().into()), "{code}");
        }
    }
}

/// An importer such as Postman's sends them all.
#[tokio::test]
async fn parameter_examples_are_accepted_together_and_revoke_nothing() {
    let scene = Scene::new().await;
    for operation in operations() {
        let mut query = Vec::new();
        let mut headers = Vec::new();
        let mut path = operation.template.to_owned();
        for parameter in operation.definition["parameters"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let name = parameter["name"].as_str().unwrap();
            let Some(example) = parameter.get("example") else {
                assert_eq!(name, "Idempotency-Key", "it is new each time");
                continue;
            };
            conforms(example, &parameter["schema"], operation.id());
            let text = example
                .as_str()
                .map_or_else(|| example.to_string(), str::to_owned);
            match parameter["in"].as_str().unwrap() {
                "path" => path = path.replace(&format!("{{{name}}}"), &text),
                "query" => query.push(format!("{name}={text}")),
                "header" => headers.push((name, text)),
                other => panic!("{other}"),
            }
        }
        let mut request = scene.api.operation(
            &operation,
            &format!("{path}?{}", query.join("&")),
            &scene.ada.token,
        );
        for (name, text) in headers {
            request = request.header(name, text);
        }
        if let Some(body) = operation.example_body() {
            request = request.json(body);
        }
        let answer = scene.api.send(request).await;
        if operation.id() == "authenticateRequest" {
            // It asks for a project, which does not exist.
            answer.refusal(403, "forbidden");
        } else if path == operation.template {
            assert!(answer.status < 300, "{}: {}", operation.id(), answer.body);
        } else {
            answer.refusal(404, "not_found");
        }
    }
}

/// The fields that are read are the fields that are documented.
#[tokio::test]
async fn every_documented_body_field_is_accepted() {
    let scene = Scene::new().await;
    for operation in operations() {
        let Some(body) = operation
            .definition
            .pointer("/requestBody/content/application~1json/schema")
        else {
            continue;
        };
        let schema = resolved(body);
        assert_eq!(schema["additionalProperties"], false);
        let body = filled(schema);
        let request = scene
            .api
            .request(operation.method.clone(), &operation.path(), &scene.ada.token);
        let answer = scene.api.send(request.json(&body)).await;
        assert!(answer.status < 300, "{}: {}", operation.id(), answer.body);
    }
}

/// A value with every member that a schema has.
fn filled(schema: &'static Value) -> Value {
    let schema = resolved(schema);
    match schema["type"].as_str() {
        Some("object") => {
            let properties = schema["properties"].as_object().unwrap();
            let members = properties
                .iter()
                .map(|(name, schema)| (name.clone(), filled(schema)));
            members.collect()
        }
        Some("array") => vec![filled(&schema["items"])].into(),
        Some("boolean") => true.into(),
        Some("integer") => schema["minimum"].clone(),
        _ if !schema["enum"].is_null() => schema["enum"][0].clone(),
        _ if schema["format"] == "date-time" => "2030-01-01T00:00:00Z".into(),
        _ => "x".into(),
    }
}

#[tokio::test]
async fn body_examples_are_accepted() {
    let scene = Scene::new().await;
    for operation in operations() {
        let Some(body) = operation.example_body() else {
            continue;
        };
        let request = scene
            .api
            .request(operation.method.clone(), &operation.path(), &scene.ada.token);
        let answer = scene.api.send(request.json(body)).await;
        assert!(answer.status < 300, "{}: {}", operation.id(), answer.body);
    }
}

#[tokio::test]
async fn document_is_served_without_authentication() {
    let scene = Scene::new().await;
    let answer = scene
        .api
        .send(scene.api.anonymous(Method::GET, "/openapi.json"))
        .await;
    assert_eq!(answer.headers["content-type"], "application/json");
    assert_eq!((answer.status, answer.body), (200, keyward_http_api::document()));
}

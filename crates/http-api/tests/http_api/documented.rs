//! Compares answers with the document: every answer that a test gets must be in it.

use std::sync::LazyLock;

use chrono::DateTime;
use reqwest::Method;
use serde_json::{Map, Value};

use crate::answer::Answer;

pub(crate) static DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(&keyward_http_api::document()).unwrap());

/// One operation of the document.
pub(crate) struct Operation {
    pub(crate) method: Method,
    pub(crate) template: &'static str,
    pub(crate) definition: &'static Value,
}

impl Operation {
    pub(crate) fn id(&self) -> &'static str {
        self.definition["operationId"].as_str().unwrap()
    }

    /// Its path, with valid values for its parameters.
    pub(crate) fn path(&self) -> String {
        let id = if self.template.contains("api-keys") {
            "current"
        } else {
            "019b76da-b3b8-7d05-9a6e-7f8091a2b3c4"
        };
        self.template.replace("{id}", id)
    }

    /// The clients whose credentials it accepts.
    pub(crate) fn audience(&self) -> Audience {
        let scheme = match &self.definition["security"].as_array().unwrap()[..] {
            [] => return Audience::Public,
            [scheme] => scheme,
            _ => panic!("{} takes more than one kind of credentials", self.id()),
        };
        let names: Vec<&str> = scheme.as_object().unwrap().keys().map(String::as_str).collect();
        match names[..] {
            ["bearer"] => Audience::KeyHolders,
            ["verifier"] => Audience::Verifiers,
            _ => panic!("{}: {names:?}", self.id()),
        }
    }

    /// The example of its request body in JSON, if it has one.
    pub(crate) fn example_body(&self) -> Option<&'static Value> {
        let schema = self
            .definition
            .pointer("/requestBody/content/application~1json/schema")?;
        Some(resolved(schema).get("example").expect("an example of the body"))
    }
}

/// The callers of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Clients with an API key.
    KeyHolders,
    /// A service that asks about its clients' keys.
    Verifiers,
    /// Clients without credentials.
    Public,
}

pub(crate) fn operations() -> Vec<Operation> {
    let paths = DOCUMENT["paths"].as_object().unwrap();
    let each = paths.iter().flat_map(|(template, operations)| {
        let operations = operations.as_object().unwrap().iter();
        operations.map(move |(method, definition)| Operation {
            method: method.to_uppercase().parse().unwrap(),
            template,
            definition,
        })
    });
    each.collect()
}

/// Fails unless the document has the answer, with its status, media type, code, members and headers.
#[track_caller]
pub(crate) fn check(method: &Method, path: &str, answer: &Answer) {
    let is_asked = |operation: &Operation| operation.method == *method && fits(operation.template, path);
    let Some(operation) = operations().into_iter().find(is_asked) else {
        return;
    };
    let (id, status) = (operation.id(), answer.status.to_string());
    let response = operation.definition["responses"]
        .get(&status)
        .unwrap_or_else(|| panic!("{id} does not document status {status}: {}", answer.body));
    let response = resolved(response);
    for (name, header) in members(response.get("headers")) {
        let is_there = answer.header(name).is_some();
        assert!(
            is_there || resolved(header)["required"] != true,
            "{id} {status} lacks the header {name}"
        );
    }
    let Some((media_type, content)) = members(response.get("content")).next() else {
        assert_eq!(answer.body, "", "{id} {status} documents no body");
        return;
    };
    assert_eq!(
        answer.header("content-type"),
        Some(media_type.as_str()),
        "{id} {status}"
    );
    let body = answer.json();
    conforms(&body, &content["schema"], &format!("{id} {status}"));
    if let Some(examples) = content.get("examples") {
        let code = body["code"].as_str().unwrap();
        assert!(
            examples.get(code).is_some(),
            "{id} does not document the code {code}: {path} {}",
            answer.body
        );
    }
}

fn fits(template: &str, path: &str) -> bool {
    let (template, path): (Vec<_>, Vec<_>) = (template.split('/').collect(), path.split('/').collect());
    let mut pairs = template.iter().zip(&path);
    template.len() == path.len() && pairs.all(|(part, text)| part == text || part.starts_with('{'))
}

/// Fails unless a value has the type, keeps the limits and has exactly the members of a schema.
#[track_caller]
pub(crate) fn conforms(value: &Value, schema: &'static Value, place: &str) {
    let schema = resolved(schema);
    if value.is_null() && schema.get("nullable") == Some(&true.into()) {
        return;
    }
    if let Some(words) = schema.get("enum") {
        assert!(words.as_array().unwrap().contains(value), "{place}: {value}");
    }
    match schema["type"].as_str().unwrap() {
        "string" => {
            let text = value.as_str().expect(place);
            let length = text.chars().count() as u64;
            let limit = |name: &str| schema.get(name).and_then(Value::as_u64);
            assert!(limit("minLength").unwrap_or(0) <= length, "{place}: {value}");
            assert!(
                length <= limit("maxLength").unwrap_or(u64::MAX),
                "{place}: {value}"
            );
            let is_time = || DateTime::parse_from_rfc3339(text).is_ok();
            assert!(
                schema.get("format") != Some(&"date-time".into()) || is_time(),
                "{place}: {value}"
            );
        }
        "integer" => {
            let number = value.as_i64().expect(place);
            let limit = |name: &str| schema.get(name).and_then(Value::as_i64);
            assert!(limit("minimum").unwrap_or(i64::MIN) <= number, "{place}: {value}");
            assert!(number <= limit("maximum").unwrap_or(i64::MAX), "{place}: {value}");
        }
        "boolean" => assert!(value.is_boolean(), "{place}: {value}"),
        "array" => {
            for item in value.as_array().expect(place) {
                conforms(item, &schema["items"], place);
            }
        }
        "object" => {
            let object = value.as_object().expect(place);
            for (name, value) in object {
                let member = schema["properties"].get(name);
                conforms(
                    value,
                    member.unwrap_or_else(|| panic!("{place} has {name}")),
                    &format!("{place}.{name}"),
                );
            }
            for name in schema
                .get("required")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                assert!(
                    object.contains_key(name.as_str().unwrap()),
                    "{place} lacks {name}"
                );
            }
        }
        other => panic!("{place}: {other}"),
    }
}

/// A schema, an answer or a header itself, or what it refers to.
pub(crate) fn resolved(schema: &'static Value) -> &'static Value {
    let reference = schema.get("$ref").or_else(|| schema.pointer("/allOf/0/$ref"));
    let Some(reference) = reference.and_then(Value::as_str) else {
        return schema;
    };
    DOCUMENT
        .pointer(reference.trim_start_matches('#'))
        .expect(reference)
}

fn members(object: Option<&'static Value>) -> impl Iterator<Item = (&'static String, &'static Value)> {
    object.and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

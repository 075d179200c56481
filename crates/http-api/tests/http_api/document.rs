//! The document: what it says, and that clients can rely on it.

use std::collections::BTreeSet;
use std::fmt;

use reqwest::Method;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::documented::{DOCUMENT, conforms, operations, resolved};
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

/// Two structs for one path would make poem-openapi write the path twice, and readers would lose one of them. The
/// visitor knows no null and no fraction either: neither belongs here.
#[test]
fn the_document_repeats_nothing() {
    let document = keyward_http_api::document();
    if let Err(error) = serde_json::from_str::<NoDuplicates>(&document) {
        panic!("{error}");
    }
    assert!(serde_json::from_str::<IgnoredAny>(&document).is_ok());
    assert!(document.ends_with("}\n"));
    assert_eq!(document, keyward_http_api::document());
}

#[test]
fn every_operation_is_there_under_its_name() {
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
            "listProjects GET /api/v1/user/projects",
            "getProject GET /api/v1/user/projects/{id}",
            "getUser GET /api/v1/user",
        ]
    );
    let ids: BTreeSet<&str> = operations().iter().map(|operation| operation.id()).collect();
    assert_eq!(ids.len(), operations().len());
}

#[test]
fn every_operation_says_whom_it_serves_and_what_it_answers() {
    let every = ["400", "401", "413", "500", "503"];
    let with_body = ["408", "415", "422"];
    for operation in operations() {
        let (id, facts) = (operation.id(), operation.facts);
        assert_eq!(facts["security"], serde_json::json!([{"bearer": []}]), "{id}");
        assert!(
            facts["summary"].is_string() && facts["description"].is_string(),
            "{id}"
        );
        assert_eq!(facts["tags"].as_array().unwrap().len(), 1, "{id}");
        let responses = facts["responses"].as_object().unwrap();
        let has = |status: &&str| responses.contains_key(*status);
        assert!(every.iter().all(has), "{id}");
        assert!(
            with_body
                .iter()
                .all(|status| has(status) == facts.get("requestBody").is_some()),
            "{id}"
        );
        assert_eq!(has(&"404"), operation.template.contains("{id}"), "{id}");
        assert!(responses.keys().is_sorted(), "{id}");
        for (status, response) in responses {
            assert!(status.parse::<u16>().is_ok(), "{id} {status}");
            assert_ne!(response["description"], "", "{id} {status}");
        }
    }
    assert_eq!(
        DOCUMENT["components"]["securitySchemes"]["bearer"]["scheme"],
        "bearer"
    );
}

/// So that whoever generates documentation or a mock server sees something sensible.
#[test]
fn every_body_has_an_example_that_fits_its_schema() {
    for operation in operations() {
        let bodies = operation.facts["responses"].as_object().unwrap().values();
        let contents = bodies.chain(operation.facts.get("requestBody"));
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
fn every_field_and_parameter_is_described() {
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
            .facts
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
fn what_a_cursor_carries_has_no_default() {
    let list = operations()
        .into_iter()
        .find(|operation| operation.id() == "listApiKeys")
        .unwrap();
    for parameter in list.facts["parameters"].as_array().unwrap() {
        let has_default = parameter["schema"].get("default").is_some();
        assert_eq!(has_default, parameter["name"] == "limit", "{parameter}");
    }
}

/// The fields that are read are the fields that are documented.
#[tokio::test]
async fn every_documented_field_of_a_body_is_accepted() {
    let scene = Scene::new().await;
    for operation in operations() {
        let Some(body) = operation
            .facts
            .pointer("/requestBody/content/application~1json/schema")
        else {
            continue;
        };
        let schema = resolved(body);
        assert_eq!(schema["additionalProperties"], false);
        let properties = schema["properties"].as_object().unwrap();
        let body: Value = properties
            .keys()
            .map(|name| (name.clone(), Value::from("x")))
            .collect();
        let request = scene
            .api
            .request(operation.method.clone(), &operation.path(), &scene.ada.token);
        let answer = scene.api.send(request.json(&body)).await;
        assert!(answer.status < 300, "{}: {}", operation.id(), answer.body);
    }
}

#[tokio::test]
async fn the_examples_of_bodies_are_accepted() {
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
async fn the_document_is_served_to_everybody() {
    let scene = Scene::new().await;
    let answer = scene
        .api
        .send(scene.api.anonymous(Method::GET, "/openapi.json"))
        .await;
    assert_eq!((answer.status, answer.body), (200, keyward_http_api::document()));
    assert_eq!(answer.headers["content-type"], "application/json");
}

//! Rewrites what poem-openapi writes into what OpenAPI 3.0.3 allows and generators understand.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::operations::operations_mut;
use crate::json;

const SCHEMAS: &str = "#/components/schemas/";

/// Applies all rewrites. Other defects of poem-openapi do not occur: bodies use Keyward's own payload types
/// with a plain media type, and no reference is `nullable`.
pub(super) fn normalise(document: &mut Value) {
    set_openapi_version(document);
    set_additional_properties(document);
    say_where_no_credentials_are_needed(document);
    mark_optional_fields_nullable(document);
    everywhere(document, &mut |object| {
        reduce_to_single_all_of(object);
        write_limits_as_integers(object);
        spell_header_names(object);
        unwrap_lines(object);
    });
}

fn everywhere(value: &mut Value, rewrite: &mut impl FnMut(&mut Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            rewrite(object);
            for (name, value) in object {
                // Examples are left unchanged: they are literal requests and responses.
                if name != "example" {
                    everywhere(value, rewrite);
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| everywhere(value, rewrite)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Replaces poem-openapi's 3.0.0.
fn set_openapi_version(document: &mut Value) {
    document["openapi"] = json!("3.0.3");
}

/// poem-openapi leaves out `security` for operations without credentials, which linters report as an
/// omission.
fn say_where_no_credentials_are_needed(document: &mut Value) {
    for (_, operation) in operations_mut(document) {
        if let Value::Object(operation) = operation {
            operation.entry("security").or_insert_with(|| json!([]));
        }
    }
}

/// Request bodies in JSON refuse unknown members. Responses may gain members, and some generated clients
/// accept these only if the schema says so. Forms ignore unknown parameters, which is the meaning of a schema
/// without the keyword; with it, openapi-generator reports an error.
fn set_additional_properties(document: &mut Value) {
    let (mut bodies, mut forms) = (BTreeSet::new(), BTreeSet::new());
    everywhere(document, &mut |object| {
        let content = object.get("requestBody").and_then(|body| body.get("content"));
        for (media_type, content) in content.and_then(Value::as_object).into_iter().flatten() {
            if let Some(reference) = content.pointer("/schema/$ref").and_then(Value::as_str) {
                let of_this_type = if media_type == json::MEDIA_TYPE {
                    &mut bodies
                } else {
                    &mut forms
                };
                of_this_type.insert(reference.trim_start_matches(SCHEMAS).to_owned());
            }
        }
    });
    let schemas = document.pointer_mut("/components/schemas");
    let Some(schemas) = schemas.and_then(Value::as_object_mut) else {
        return;
    };
    // So do the objects in them.
    let mut unseen: Vec<String> = bodies.iter().cloned().collect();
    while let Some(name) = unseen.pop() {
        if let Some(schema) = schemas.get_mut(&name) {
            everywhere(schema, &mut |object| {
                if let Some(reference) = object.get("$ref").and_then(Value::as_str) {
                    let name = reference.trim_start_matches(SCHEMAS).to_owned();
                    if bodies.insert(name.clone()) {
                        unseen.push(name);
                    }
                }
            });
        }
    }
    for (name, schema) in schemas {
        if schema["type"] == "object" && !forms.contains(name) {
            schema["additionalProperties"] = json!(!bodies.contains(name));
        }
    }
}

/// In a request, null means that a field is absent or, in a change, removed. Fields that cannot be removed
/// cannot be null. A reference is not changed, and its description says it: `nullable` without a `type` is an
/// error to spectral and redocly, also where openapi-typescript generates, and a `type` beside a reference
/// makes a type of its own.
fn mark_optional_fields_nullable(document: &mut Value) {
    const NEVER_NULL: [(&str, &str); 1] = [("UpdateApiKeyRequest", "name")];
    let schemas = document.pointer_mut("/components/schemas");
    for (name, schema) in schemas.and_then(Value::as_object_mut).into_iter().flatten() {
        if schema["additionalProperties"] != false {
            continue;
        }
        let required = schema.get("required").cloned().unwrap_or_default();
        let is_required = |field: &str| {
            required
                .as_array()
                .is_some_and(|names| names.iter().any(|name| name == field))
        };
        let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
        for (field, schema) in fields.into_iter().flatten() {
            if !is_required(field) && !NEVER_NULL.contains(&(name, field)) && schema.get("type").is_some() {
                schema["nullable"] = json!(true);
            }
        }
    }
}

/// poem-openapi writes a reference with a description as `allOf` with two members; generators understand it
/// only with one.
fn reduce_to_single_all_of(object: &mut Map<String, Value>) {
    if let Some(Value::Array(members)) = object.get_mut("allOf")
        && members.iter().any(is_reference)
    {
        members.retain(is_reference);
    }
}

fn is_reference(schema: &Value) -> bool {
    schema.get("$ref").is_some()
}

/// `1.0` where an integer is meant.
fn write_limits_as_integers(object: &mut Map<String, Value>) {
    if object.get("type").and_then(Value::as_str) != Some("integer") {
        return;
    }
    for name in ["minimum", "maximum", "multipleOf"] {
        if let Some(limit) = object.get_mut(name)
            && let Ok(integer) = format!("{:.0}", limit.as_f64().unwrap_or_default()).parse::<i64>()
        {
            *limit = json!(integer);
        }
    }
}

/// `LOCATION` becomes `Location`.
fn spell_header_names(object: &mut Map<String, Value>) {
    if let Some(Value::Object(headers)) = object.get_mut("headers") {
        *headers = std::mem::take(headers)
            .into_iter()
            .map(|(name, header)| (spelled(&name), header))
            .collect();
    }
}

/// Joins the source's line breaks in descriptions; only empty lines separate paragraphs.
fn unwrap_lines(object: &mut Map<String, Value>) {
    if let Some(Value::String(description)) = object.get_mut("description") {
        let paragraphs: Vec<String> = description
            .split("\n\n")
            .map(|text| text.replace('\n', " "))
            .collect();
        *description = paragraphs.join("\n\n");
    }
}

fn spelled(name: &str) -> String {
    const UNUSUAL: [&str; 3] = ["ETag", "X-Consumer-ID", "X-Organization-ID"];
    if let Some(spelled) = UNUSUAL.iter().find(|unusual| unusual.eq_ignore_ascii_case(name)) {
        return (*spelled).to_owned();
    }
    let mut begins_word = true;
    let spell = |c: char| {
        let spelled = if begins_word {
            c.to_ascii_uppercase()
        } else {
            c.to_ascii_lowercase()
        };
        begins_word = c == '-';
        spelled
    };
    name.chars().map(spell).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{SCHEMAS, normalise};

    fn normalised(mut document: Value) -> Value {
        normalise(&mut document);
        document
    }

    #[test]
    fn openapi_version_matches_the_documents_rules() {
        assert_eq!(
            normalised(json!({"openapi": "3.0.0"})),
            json!({"openapi": "3.0.3"})
        );
    }

    #[test]
    fn requests_forbid_unknown_fields_but_responses_allow_them() {
        let content = |media_type: &str, schema: &str| {
            let reference = format!("{SCHEMAS}{schema}");
            json!({"content": {media_type: {"schema": {"$ref": reference}}}})
        };
        let document = json!({
            "paths": {
                "/a": {"post": {
                    "requestBody": content("application/json", "Asked"),
                    "responses": {"200": content("application/json", "Answered")}
                }},
                "/b": {"post": {"requestBody": content("application/x-www-form-urlencoded", "Form")}}
            },
            "components": {"schemas": {
                "Asked": {"type": "object"}, "Answered": {"type": "object"}, "Form": {"type": "object"}
            }}
        });
        let schemas = normalised(document)["components"]["schemas"].clone();
        assert_eq!(
            schemas,
            json!({
                "Asked": {"type": "object", "additionalProperties": false},
                "Answered": {"type": "object", "additionalProperties": true},
                "Form": {"type": "object"}
            })
        );
    }

    #[test]
    fn described_reference_keeps_its_description_beside_all_of() {
        let document = json!({
            "allOf": [{"$ref": "#/components/schemas/A"}, {"description": "An A."}], "description": "An A."
        });
        assert_eq!(
            normalised(document),
            json!({"openapi": "3.0.3", "allOf": [{"$ref": "#/components/schemas/A"}], "description": "An A."})
        );
    }

    #[test]
    fn integer_limits_are_integers() {
        let document = json!({"limit": {"type": "integer", "minimum": 1.0, "maximum": 100.0}});
        let limit = normalised(document)["limit"].to_string();
        assert_eq!(limit, r#"{"type":"integer","minimum":1,"maximum":100}"#);
    }

    #[test]
    fn header_names_use_conventional_capitalization() {
        let document = json!({"headers": {"LOCATION": {}, "CACHE-CONTROL": {}, "ETAG": {}}});
        assert_eq!(
            normalised(document)["headers"],
            json!({"Location": {}, "Cache-Control": {}, "ETag": {}})
        );
    }

    #[test]
    fn descriptions_keep_paragraph_breaks_only() {
        let document = json!({
            "description": "One\nline.\n\nAnother\none.", "example": {"description": "Two\nlines"}
        });
        assert_eq!(
            normalised(document),
            json!({
                "description": "One line.\n\nAnother one.", "example": {"description": "Two\nlines"},
                "openapi": "3.0.3"
            })
        );
    }
}

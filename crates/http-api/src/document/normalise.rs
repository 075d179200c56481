//! Rewrites what poem-openapi writes into what OpenAPI 3.0.3 allows and generators understand.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// All rewrites. The rest of what poem-openapi gets wrong does not arise: bodies have payload types of our own with a
/// plain media type, and no schema is `nullable`.
pub(super) fn normalise(document: &mut Value) {
    say_the_version(document);
    refuse_unknown_fields(document);
    everywhere(document, &mut |object| {
        reduce_to_single_all_of(object);
        make_limits_integers(object);
        spell_header_names(object);
        unwrap_lines(object);
    });
}

fn everywhere(value: &mut Value, rewrite: &mut impl FnMut(&mut Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            rewrite(object);
            for (name, value) in object {
                // An example is what a client sends or gets, to the letter.
                if name != "example" {
                    everywhere(value, rewrite);
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| everywhere(value, rewrite)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// poem-openapi says 3.0.0.
fn say_the_version(document: &mut Value) {
    document["openapi"] = json!("3.0.3");
}

/// Request bodies refuse fields that they do not have; poem-openapi does not say so.
fn refuse_unknown_fields(document: &mut Value) {
    let mut body_schemas = BTreeSet::new();
    everywhere(document, &mut |object| {
        let content = object.get("requestBody").and_then(|body| body.get("content"));
        for media_type in content
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Map::values)
        {
            if let Some(reference) = media_type.pointer("/schema/$ref").and_then(Value::as_str) {
                body_schemas.insert(reference.trim_start_matches('#').to_owned());
            }
        }
    });
    for pointer in body_schemas {
        if let Some(schema) = document.pointer_mut(&pointer) {
            schema["additionalProperties"] = json!(false);
        }
    }
}

/// A reference with a description comes as `allOf` with two members, of which generators understand the first only
/// if it is alone.
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
fn make_limits_integers(object: &mut Map<String, Value>) {
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

/// Descriptions come with the line breaks of the source text; only empty lines mean something.
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

    use super::normalise;

    fn normalised(mut document: Value) -> Value {
        normalise(&mut document);
        document
    }

    #[test]
    fn the_version_is_the_one_whose_rules_the_document_follows() {
        assert_eq!(
            normalised(json!({"openapi": "3.0.0"})),
            json!({"openapi": "3.0.3"})
        );
    }

    #[test]
    fn request_bodies_refuse_unknown_fields_and_answers_may_have_more() {
        let document = json!({
            "paths": {"/a": {"post": {
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Asked"}}}},
                "responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Answered"}}}}}
            }}},
            "components": {"schemas": {"Asked": {"type": "object"}, "Answered": {"type": "object"}}}
        });
        let schemas = normalised(document)["components"]["schemas"].clone();
        assert_eq!(
            schemas,
            json!({"Asked": {"type": "object", "additionalProperties": false}, "Answered": {"type": "object"}})
        );
    }

    #[test]
    fn a_described_reference_keeps_its_description_beside_a_single_all_of() {
        let document = json!({
            "allOf": [{"$ref": "#/components/schemas/A"}, {"description": "An A."}], "description": "An A."
        });
        assert_eq!(
            normalised(document),
            json!({"openapi": "3.0.3", "allOf": [{"$ref": "#/components/schemas/A"}], "description": "An A."})
        );
    }

    #[test]
    fn limits_of_integers_are_integers() {
        let document = json!({"limit": {"type": "integer", "minimum": 1.0, "maximum": 100.0}});
        let limit = normalised(document)["limit"].to_string();
        assert_eq!(limit, r#"{"type":"integer","minimum":1,"maximum":100}"#);
    }

    #[test]
    fn header_names_are_spelled_as_people_write_them() {
        let document = json!({"headers": {"LOCATION": {}, "CACHE-CONTROL": {}}});
        assert_eq!(
            normalised(document)["headers"],
            json!({"Location": {}, "Cache-Control": {}})
        );
    }

    #[test]
    fn descriptions_keep_their_paragraphs_only() {
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

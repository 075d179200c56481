//! The schemas of bodies and parameters.

use serde_json::Value;

use super::members::{elements, members, text};
use crate::prose::html;

const SCHEMAS: &str = "#/components/schemas/";

/// A named schema.
pub(super) struct Schema {
    pub(super) name: String,
    pub(super) description_html: String,
    pub(super) fields: Vec<Field>,
    /// The values of an enum; empty otherwise.
    pub(super) choices: Vec<String>,
    /// Indented JSON; empty if there is none.
    pub(super) example: String,
}

/// A member of a body, a parameter or a header.
pub(super) struct Field {
    pub(super) name: String,
    /// `path` or `query`; empty for a body member.
    pub(super) place: String,
    pub(super) required: bool,
    /// Such as `string` or `list of`.
    pub(super) kind: String,
    /// The schema that it refers to; empty if none.
    pub(super) schema: String,
    pub(super) limits: String,
    pub(super) choices: Vec<String>,
    pub(super) default: String,
    pub(super) description_html: String,
}

pub(super) fn schemas(document: &Value) -> Vec<Schema> {
    members(&document["components"], "schemas")
        .map(|(name, schema)| Schema {
            name: name.clone(),
            description_html: html(text(schema, "description")),
            fields: fields(schema),
            choices: choices(schema),
            example: example(schema),
        })
        .collect()
}

/// The schema with this name in `components/schemas`; null if there is none.
pub(super) fn schema<'a>(document: &'a Value, name: &str) -> &'a Value {
    &document["components"]["schemas"][name]
}

/// Resolves a reference; other values are returned unchanged.
pub(super) fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    text(value, "$ref")
        .strip_prefix('#')
        .and_then(|pointer| document.pointer(pointer))
        .unwrap_or(value)
}

/// The name of the referenced schema; empty if there is no reference.
pub(super) fn referred(schema: &Value) -> &str {
    let single = elements(schema, "allOf").next().unwrap_or(schema);
    text(single, "$ref").trim_start_matches(SCHEMAS)
}

/// The members of an object.
pub(super) fn fields(object: &Value) -> Vec<Field> {
    members(object, "properties")
        .map(|(name, schema)| Field {
            required: elements(object, "required").any(|required| required == name),
            ..Field::new(name, schema, text(schema, "description"))
        })
        .collect()
}

/// The example of a schema as indented JSON; empty if it has none.
pub(super) fn example(schema: &Value) -> String {
    schema
        .get("example")
        .map_or_else(String::new, |example| format!("{example:#}"))
}

fn choices(schema: &Value) -> Vec<String> {
    elements(schema, "enum")
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

impl Field {
    /// An optional member, not a parameter.
    pub(super) fn new(name: &str, schema: &Value, description: &str) -> Self {
        let is_list = text(schema, "type") == "array";
        let element = if is_list { &schema["items"] } else { schema };
        Self {
            name: name.to_owned(),
            place: String::new(),
            required: false,
            kind: match (is_list, text(element, "type"), text(element, "format")) {
                (true, kind, _) => format!("list of {kind}"),
                (false, _, "date-time") => "time".to_owned(),
                (false, kind, _) => kind.to_owned(),
            },
            schema: referred(element).to_owned(),
            limits: limits(schema),
            choices: choices(schema),
            default: schema.get("default").map_or_else(String::new, Value::to_string),
            description_html: html(description),
        }
    }
}

/// The limits of a number or of a text's length, in words.
fn limits(schema: &Value) -> String {
    let limit = |member: &str| schema.get(member).and_then(Value::as_i64);
    let (least, most, unit) = match text(schema, "type") {
        "integer" => (limit("minimum"), limit("maximum"), ""),
        _ => (limit("minLength"), limit("maxLength"), " characters"),
    };
    let unit = match (least, most) {
        (Some(1), None) | (_, Some(1)) => unit.trim_end_matches('s'),
        _ => unit,
    };
    match (least, most) {
        (Some(least), Some(most)) => format!("{least} to {most}{unit}"),
        (Some(least), None) => format!("At least {least}{unit}"),
        (None, Some(most)) => format!("At most {most}{unit}"),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Field;

    fn field(schema: serde_json::Value) -> Field {
        Field::new("some", &schema, "")
    }

    #[test]
    fn schema_limits_are_written_in_words() {
        assert_eq!(
            field(json!({"type": "integer", "minimum": 1, "maximum": 100})).limits,
            "1 to 100"
        );
        assert_eq!(
            field(json!({"type": "string", "maxLength": 500})).limits,
            "At most 500 characters"
        );
        assert_eq!(field(json!({"type": "string"})).limits, "");
    }

    #[test]
    fn references_are_found_at_any_depth() {
        let reference = json!({"$ref": "#/components/schemas/ApiKey"});
        assert_eq!(field(reference.clone()).schema, "ApiKey");
        assert_eq!(field(json!({"allOf": [reference]})).schema, "ApiKey");
        let list = field(json!({"type": "array", "items": reference}));
        assert_eq!((list.kind.as_str(), list.schema.as_str()), ("list of ", "ApiKey"));
        assert_eq!(
            field(json!({"type": "string", "format": "date-time"})).kind,
            "time"
        );
    }
}

//! Operations with their parameters, bodies and responses.

use poem::http::StatusCode;
use serde_json::Value;

use super::members::{elements, members, text};
use super::schemas::{Field, example, fields, referred, resolved, schema};
use crate::prose::{html, paragraphs};
use crate::verifier_authentication::SCHEME;

const JSON_CONTENT: &str = "/content/application~1json";
const FORM_CONTENT: &str = "/content/application~1x-www-form-urlencoded";
const PROBLEM_CONTENT: &str = "/content/application~1problem+json";

/// The operations of one tag.
pub(super) struct Group {
    pub(super) name: String,
    pub(super) description_html: String,
    pub(super) operations: Vec<Operation>,
}

/// An operation of the API, as the page shows it.
pub(super) struct Operation {
    pub(super) id: String,
    /// In upper case.
    pub(super) method: String,
    /// With parameters in braces.
    pub(super) path: String,
    pub(super) summary: String,
    pub(super) description_html: String,
    pub(super) parameters: Vec<Field>,
    pub(super) body: Option<Body>,
    pub(super) successes: Vec<Success>,
    pub(super) problems: Vec<PossibleProblem>,
    /// A command line that does it.
    pub(super) curl: String,
    /// Whether the page can do it, which it can with an API key only.
    pub(super) can_be_tried: bool,
}

/// A request body.
pub(super) struct Body {
    pub(super) fields: Vec<Field>,
    /// Its example in JSON.
    pub(super) example: String,
    is_form: bool,
}

/// The callers of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Audience {
    KeyHolders,
    Verifiers,
    Public,
}

/// A success response.
pub(super) struct Success {
    /// Such as `201 Created`.
    pub(super) status: String,
    pub(super) description_html: String,
    pub(super) headers: Vec<Field>,
    /// The schema of its body; empty if it has none.
    pub(super) schema: String,
    pub(super) example: String,
}

/// A problem that an operation can return.
pub(super) struct PossibleProblem {
    pub(super) status: String,
    pub(super) code: String,
    pub(super) title: String,
}

/// All operations, grouped by tag.
pub(super) fn groups(document: &Value) -> Vec<Group> {
    elements(document, "tags")
        .map(|tag| Group {
            name: text(tag, "name").to_owned(),
            description_html: paragraphs(text(tag, "description")),
            operations: operations(document)
                .filter(|(_, _, definition)| elements(definition, "tags").any(|name| *name == tag["name"]))
                .map(|(path, method, definition)| operation(document, path, method, definition))
                .collect(),
        })
        .collect()
}

fn operations(document: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    members(document, "paths").flat_map(|(path, operations)| {
        let operations = operations.as_object().into_iter().flatten();
        operations.map(move |(method, definition)| (path.as_str(), method.as_str(), definition))
    })
}

fn operation(document: &Value, path: &str, method: &str, definition: &Value) -> Operation {
    let method = method.to_uppercase();
    let body = definition.get("requestBody").map(|body| {
        let shape = schema(document, body_schema(body));
        Body {
            fields: fields(shape),
            example: example(shape),
            is_form: body.pointer(FORM_CONTENT).is_some(),
        }
    });
    let audience = match elements(definition, "security").next() {
        Some(scheme) if scheme.get(SCHEME).is_some() => Audience::Verifiers,
        Some(_) => Audience::KeyHolders,
        None => Audience::Public,
    };
    Operation {
        id: text(definition, "operationId").to_owned(),
        summary: text(definition, "summary").to_owned(),
        description_html: paragraphs(text(definition, "description")),
        parameters: elements(definition, "parameters")
            .map(|definition| parameter(document, definition))
            .collect(),
        successes: successes(document, definition),
        problems: problems(document, definition),
        curl: curl(&method, path, audience, body.as_ref()),
        can_be_tried: audience == Audience::KeyHolders,
        path: path.to_owned(),
        method,
        body,
    }
}

fn parameter(document: &Value, parameter: &Value) -> Field {
    Field {
        place: text(parameter, "in").to_owned(),
        required: parameter["required"] == true,
        ..Field::new(
            text(parameter, "name"),
            resolved(document, &parameter["schema"]),
            text(parameter, "description"),
        )
    }
}

/// The schema name of a request or response body.
fn body_schema(holder: &Value) -> &str {
    let content = [JSON_CONTENT, FORM_CONTENT]
        .iter()
        .find_map(|content| holder.pointer(content));
    content
        .and_then(|content| content.get("schema"))
        .map_or("", referred)
}

fn successes(document: &Value, definition: &Value) -> Vec<Success> {
    members(definition, "responses")
        .filter(|(status, _)| status.starts_with('2'))
        .map(|(status, answer)| Success {
            status: with_reason(status),
            description_html: html(text(answer, "description")),
            headers: members(answer, "headers")
                .map(|(name, header)| (name, resolved(document, header)))
                .map(|(name, header)| Field::new(name, &header["schema"], text(header, "description")))
                .collect(),
            schema: body_schema(answer).to_owned(),
            example: example(schema(document, body_schema(answer))),
        })
        .collect()
}

fn problems(document: &Value, definition: &Value) -> Vec<PossibleProblem> {
    members(definition, "responses")
        .filter_map(|(status, answer)| Some((status, resolved(document, answer).pointer(PROBLEM_CONTENT)?)))
        .flat_map(|(status, content)| {
            members(content, "examples").map(move |(code, example)| PossibleProblem {
                status: status.clone(),
                code: code.clone(),
                title: text(example, "summary").to_owned(),
            })
        })
        .collect()
}

/// `201` becomes `201 Created`.
fn with_reason(status: &str) -> String {
    status
        .parse()
        .map_or_else(|_| status.to_owned(), |status: StatusCode| status.to_string())
}

/// A curl command for a POSIX shell. Path parameters become shell variables, so that no existing key is
/// affected by accident.
fn curl(method: &str, path: &str, audience: Audience, body: Option<&Body>) -> String {
    let mut line = "curl".to_owned();
    if method != "GET" {
        line += &format!(" --request {method}");
    }
    line += &format!(" \"$KEYWARD_URL{}\"", path.replace('{', "$").replace('}', ""));
    line += match audience {
        Audience::KeyHolders => " \\\n  --header \"Authorization: Bearer $KEYWARD_API_KEY\"",
        Audience::Public => "",
        Audience::Verifiers => " \\\n  --user \"$VERIFIER:$VERIFIER_SECRET\"",
    };
    if let Some(body) = body.filter(|body| body.is_form) {
        for field in body.fields.iter().filter(|field| field.required) {
            line += &format!(
                " \\\n  --data-urlencode \"{}=${}\"",
                field.name,
                field.name.to_uppercase()
            );
        }
    } else if let Some(body) = body {
        line += &format!(
            " \\\n  --header 'Content-Type: application/json' \\\n  --data '{}'",
            body.example.replace('\'', r"'\''")
        );
    }
    line
}

//! What the page says, in its order.

use askama::Template;
use serde_json::Value;

use super::assets;
use super::operations::{Group, groups};
use super::schemas::{Schema, schemas};
use crate::document::document;
use crate::problem::{Code, Facts};
use crate::prose::{html, paragraphs};

/// The whole page. Fields that end in `_html` are HTML.
#[derive(Template)]
#[template(path = "reference.html")]
pub(super) struct Page {
    title: String,
    version: String,
    description_html: String,
    key_html: String,
    groups: Vec<Group>,
    schemas: Vec<Schema>,
    problems: Vec<Facts>,
    style: String,
    script: String,
}

impl Page {
    /// The page of the document that `/openapi.json` serves.
    pub(super) fn of_the_document() -> Self {
        // It is only read back from what was just written, so it is JSON.
        Self::of(&serde_json::from_str(&document()).unwrap_or_default())
    }

    fn of(document: &Value) -> Self {
        let info = &document["info"];
        Self {
            title: text(info, "title").to_owned(),
            version: text(info, "version").to_owned(),
            description_html: paragraphs(text(info, "description")),
            key_html: html(text(
                &document["components"]["securitySchemes"]["bearer"],
                "description",
            )),
            groups: groups(document),
            schemas: schemas(document),
            problems: Code::ALL.into_iter().map(Code::facts).collect(),
            style: assets::style(),
            script: assets::script(),
        }
    }
}

/// The text of a member; empty if there is none.
pub(super) fn text<'a>(object: &'a Value, member: &str) -> &'a str {
    object.get(member).and_then(Value::as_str).unwrap_or_default()
}

/// The members of a member that is an object, in their order.
pub(super) fn members<'a>(object: &'a Value, member: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let members = object.get(member).and_then(Value::as_object);
    members.into_iter().flatten()
}

/// The elements of a member that is an array.
pub(super) fn elements<'a>(object: &'a Value, member: &str) -> impl Iterator<Item = &'a Value> {
    let elements = object.get(member).and_then(Value::as_array);
    elements.into_iter().flatten()
}

//! The content of the page, in order.

use askama::Template;
use serde_json::Value;

use super::members::text;
use super::operations::{Group, groups};
use super::schemas::{Schema, schemas};
use crate::assets;
use crate::document::document;
use crate::problem::{Code, ProblemType};
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
    problems: Vec<ProblemType>,
    style: String,
    script: String,
}

impl Page {
    /// The page of the document that `/openapi.json` serves.
    pub(super) fn of_the_document() -> Self {
        // Cannot fail: this parses JSON that was just written.
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
            problems: Code::ALL.iter().copied().map(Code::definition).collect(),
            style: assets::style(),
            script: assets::script(),
        }
    }
}

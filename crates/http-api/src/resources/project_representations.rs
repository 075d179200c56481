//! Projects in responses.

use chrono::{DateTime, Utc};
use keyward_domain::project::Project;
use poem_openapi::Object;
use poem_openapi::types::Example;
use serde::Serialize;

use super::examples;
use crate::json::{moment, write_moment};

/// A project that the calling key has access to.
#[derive(Object, Serialize)]
#[serde(rename_all = "camelCase")]
#[oai(rename = "Project", rename_all = "camelCase", example)]
pub(crate) struct ProjectItem {
    /// The ID of the project.
    id: String,
    /// The name of the project; not unique.
    name: String,
    /// When it was created.
    #[oai(serialize_with = "moment")]
    #[serde(serialize_with = "write_moment")]
    created_at: DateTime<Utc>,
}

impl From<&Project> for ProjectItem {
    fn from(project: &Project) -> Self {
        Self {
            id: project.id.to_string(),
            name: project.name.to_string(),
            created_at: project.created_at,
        }
    }
}

/// A page of the projects that the calling key has access to, newest first.
#[derive(Object)]
#[oai(
    rename = "ProjectPage",
    rename_all = "camelCase",
    skip_serializing_if_is_none,
    example
)]
pub(crate) struct ProjectPage {
    /// The projects, newest first.
    pub(crate) items: Vec<ProjectItem>,
    /// The `cursor` of the next page. Absent on the last page.
    pub(crate) next_cursor: Option<String>,
}

impl Example for ProjectItem {
    fn example() -> Self {
        Self {
            id: examples::PROJECT_ID.to_owned(),
            name: "Difference Engine".to_owned(),
            // 2026-01-01T00:00:03.000Z
            created_at: DateTime::from_timestamp_nanos(1_767_225_603_000_000_000),
        }
    }
}

impl Example for ProjectPage {
    fn example() -> Self {
        Self {
            items: vec![ProjectItem::example()],
            next_cursor: Some(examples::project_cursor()),
        }
    }
}

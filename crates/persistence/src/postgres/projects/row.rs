//! A project as it is stored.

use chrono::{DateTime, Utc};
use diesel::pg::Pg;
use diesel::prelude::{Insertable, Queryable, Selectable};
use keyward_domain::id::{OrganizationId, ProjectId};
use keyward_domain::ports::StorageError;
use keyward_domain::project::{Project, ProjectName};
use uuid::Uuid;

use crate::postgres::schema::projects;
use crate::stored_row::StoredRow;

#[derive(Queryable, Selectable)]
#[diesel(table_name = projects, check_for_backend(Pg))]
pub(super) struct ProjectRow {
    id: Uuid,
    organization_id: Uuid,
    name: String,
    created_at: DateTime<Utc>,
    archived_at: Option<DateTime<Utc>>,
}

impl TryFrom<ProjectRow> for Project {
    type Error = StorageError;

    fn try_from(row: ProjectRow) -> Result<Self, StorageError> {
        let stored = StoredRow::new("projects", row.id);
        Ok(Self {
            id: ProjectId::from_uuid(row.id),
            organization_id: OrganizationId::from_uuid(row.organization_id),
            name: stored.read("name", ProjectName::from_storage(row.name))?,
            created_at: row.created_at,
            archived_at: row.archived_at,
        })
    }
}

/// A project to be stored.
#[derive(Insertable)]
#[diesel(table_name = projects)]
pub(super) struct NewProjectRow {
    id: Uuid,
    organization_id: Uuid,
    name: String,
    search_text: String,
    created_at: DateTime<Utc>,
    archived_at: Option<DateTime<Utc>>,
}

impl From<Project> for NewProjectRow {
    fn from(project: Project) -> Self {
        Self {
            id: project.id.as_uuid(),
            organization_id: project.organization_id.as_uuid(),
            name: project.name.to_string(),
            search_text: project.search_text(),
            created_at: project.created_at,
            archived_at: project.archived_at,
        }
    }
}

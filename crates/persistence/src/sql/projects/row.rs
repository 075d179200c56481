//! A project as it is stored.

use diesel::prelude::{Insertable, Queryable, Selectable};
use keyward_domain::id::{OrganizationId, ProjectId};
use keyward_domain::ports::StorageError;
use keyward_domain::project::{NewProject, Project, ProjectName};

use super::super::dialect::Database;
use super::super::schema::projects;
use crate::columns::{StoredId, StoredMoment};
use crate::stored_row::StoredRow;

#[derive(Queryable, Selectable)]
#[diesel(table_name = projects, check_for_backend(Database))]
pub(super) struct ProjectRow {
    id: StoredId,
    organization_id: StoredId,
    name: String,
    created_at: StoredMoment,
    archived_at: Option<StoredMoment>,
}

impl TryFrom<ProjectRow> for Project {
    type Error = StorageError;

    fn try_from(row: ProjectRow) -> Result<Self, StorageError> {
        let stored = StoredRow::new("projects", row.id.0);
        Ok(Self {
            id: ProjectId::from_uuid(row.id.0),
            organization_id: OrganizationId::from_uuid(row.organization_id.0),
            name: stored.read("name", ProjectName::from_storage(row.name))?,
            created_at: stored.moment("created_at", row.created_at)?,
            archived_at: stored.moment_if_any("archived_at", row.archived_at)?,
        })
    }
}

/// A project to be stored.
#[derive(Insertable)]
#[diesel(table_name = projects)]
pub(super) struct NewProjectRow {
    id: StoredId,
    organization_id: StoredId,
    name: String,
    search_text: String,
    idempotency_key: Option<Vec<u8>>,
    created_at: StoredMoment,
    archived_at: Option<StoredMoment>,
}

impl From<NewProject> for NewProjectRow {
    fn from(new: NewProject) -> Self {
        let NewProject {
            project,
            idempotency_key,
        } = new;
        Self {
            id: StoredId(project.id.as_uuid()),
            organization_id: StoredId(project.organization_id.as_uuid()),
            name: project.name.to_string(),
            search_text: project.search_text(),
            idempotency_key: idempotency_key.map(|key| key.to_bytes().to_vec()),
            created_at: project.created_at.into(),
            archived_at: project.archived_at.map(StoredMoment::from),
        }
    }
}

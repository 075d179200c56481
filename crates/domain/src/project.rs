//! The project, which gives access to its members' keys.

use chrono::{DateTime, Utc};

use crate::audit::Action;
use crate::id::{OrganizationId, ProjectId};
use crate::idempotency_key::IdempotencyKey;
use crate::text::{folded, text_type};

/// A project of one organization.
///
/// Members are added to it one by one, by their membership: a user who leaves and joins again starts without
/// projects. A key reaches the projects of its consumer that are not archived, as of the moment of the
/// request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Rises with the time of creation (UUID version 7).
    pub id: ProjectId,
    /// The organization whose owners manage it; it never changes.
    pub organization_id: OrganizationId,
    /// Its name for people; not unique.
    pub name: ProjectName,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// When it was archived, if it is.
    pub archived_at: Option<DateTime<Utc>>,
}

impl Project {
    /// Whether the project can be reached by its members' keys.
    #[must_use]
    pub const fn is_active(&self) -> bool {
        self.archived_at.is_none()
    }

    /// The project once a change was made, which may leave it as it is.
    #[must_use]
    pub fn after(self, change: ProjectChange, at: DateTime<Utc>) -> Self {
        match change {
            ProjectChange::Rename(name) => Self { name, ..self },
            ProjectChange::Archive => Self {
                archived_at: self.archived_at.or(Some(at)),
                ..self
            },
            ProjectChange::Restore => Self {
                archived_at: None,
                ..self
            },
        }
    }

    /// The text that searches look at: the folded name.
    #[must_use]
    pub fn search_text(&self) -> String {
        folded(self.name.as_str())
    }
}

/// A change of a project by an owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectChange {
    /// It gets another name.
    Rename(ProjectName),
    /// No key reaches it from then on. One that is archived keeps its moment.
    Archive,
    /// Its archival ends; it has the members that it had.
    Restore,
}

impl ProjectChange {
    /// Its action in the audit log.
    #[must_use]
    pub const fn action(&self) -> Action {
        match self {
            Self::Rename(_) => Action::RenameProject,
            Self::Archive => Action::ArchiveProject,
            Self::Restore => Action::RestoreProject,
        }
    }
}

/// A project to be stored.
#[derive(Debug, Clone)]
pub struct NewProject {
    /// As it is to be stored, without members.
    pub project: Project,
    /// The idempotency key of the form that creates it, if there is one.
    pub idempotency_key: Option<IdempotencyKey>,
}

text_type! {
    /// A project's name: one line of 1 to 100 code points.
    ProjectName, max 100, OneLine
}

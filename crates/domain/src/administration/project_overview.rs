//! Projects as owners look for and see them.

use crate::project::Project;
use crate::text::search_term;
use crate::words::words;

/// A project, as a list of projects shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectOverview {
    /// The project, active or archived.
    pub project: Project,
    /// How many live members are in it.
    pub members: u32,
}

words! {
    /// Projects of which state a list shows.
    #[derive(Default)]
    ProjectStatus {
        /// Projects that are not archived.
        #[default]
        Active = "active",
        /// Archived projects, which no key reaches.
        Archived = "archived",
        /// Active and archived projects.
        All = "all",
    }
}

/// Which projects a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectFilter {
    status: ProjectStatus,
    term: Option<String>,
    name: Option<String>,
}

impl ProjectFilter {
    /// Projects of a status whose folded name contains the folded, trimmed term. An empty term finds all.
    #[must_use]
    pub fn new(status: ProjectStatus, search: Option<&str>) -> Self {
        Self {
            status,
            term: search.and_then(search_term),
            name: None,
        }
    }

    /// Active and archived projects with exactly this name, folded and trimmed.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            status: ProjectStatus::All,
            term: None,
            name: search_term(name),
        }
    }

    /// Which projects pass by their status.
    pub const fn status(&self) -> ProjectStatus {
        self.status
    }

    /// A text that [`Project::search_text`] must contain, literally; a store escapes its own wildcards.
    pub fn term(&self) -> Option<&str> {
        self.term.as_deref()
    }

    /// The text that [`Project::search_text`] must equal.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Whether a project passes.
    #[must_use]
    pub fn accepts(&self, project: &Project) -> bool {
        let status = match self.status {
            ProjectStatus::Active => project.is_active(),
            ProjectStatus::Archived => !project.is_active(),
            ProjectStatus::All => true,
        };
        status
            && self
                .term()
                .is_none_or(|term| project.search_text().contains(term))
            && self.name().is_none_or(|name| project.search_text() == name)
    }
}

//! Which part of the organization's projects the list shows, and the words for it.

use keyward_domain::administration::ports::{ProjectFilter, ProjectStatus};
use keyward_domain::id::ProjectId;
use keyward_domain::organization::Slug;

use crate::forms::Fields;
use crate::links;
use crate::pages::settings::SectionLink;
use crate::refusal::Refusal;

/// The query of the list's address.
pub(super) struct ProjectListing<'a> {
    pub(super) status: ProjectStatus,
    pub(super) search: &'a str,
    /// The last project of the page before.
    pub(super) after: Option<ProjectId>,
}

impl<'a> ProjectListing<'a> {
    pub(super) fn parse(query: &'a Fields) -> Result<Self, Refusal> {
        let status = match query.optional("status") {
            None => ProjectStatus::default(),
            Some(word) => ProjectStatus::from_word(word).ok_or(Refusal::BadAddress)?,
        };
        let after = match query.optional("after") {
            None => None,
            Some(id) => Some(id.parse().map_err(|_| Refusal::BadAddress)?),
        };
        Ok(Self {
            status,
            search: query.optional("search").unwrap_or_default().trim(),
            after,
        })
    }

    pub(super) fn filter(&self) -> ProjectFilter {
        ProjectFilter::new(self.status, Some(self.search))
    }

    /// The address of this list, from its newest project or from the one after.
    pub(super) fn address(&self, slug: &Slug, after: Option<ProjectId>) -> String {
        let after = after.map(|id| id.to_string());
        links::with_query(
            &links::projects(slug),
            [
                (
                    "status",
                    (self.status != ProjectStatus::default()).then_some(self.status.as_str()),
                ),
                ("search", (!self.search.is_empty()).then_some(self.search)),
                ("after", after.as_deref()),
            ],
        )
    }

    /// The same search among the projects of a status.
    pub(super) const fn with_status(&self, status: ProjectStatus) -> Self {
        Self {
            status,
            search: self.search,
            after: None,
        }
    }

    /// The projects of the same status, whatever they are called.
    pub(super) const fn without_search(&self) -> Self {
        Self {
            status: self.status,
            search: "",
            after: None,
        }
    }

    pub(super) fn statuses(&self, slug: &Slug) -> Vec<SectionLink> {
        [
            (ProjectStatus::Active, "Active"),
            (ProjectStatus::Archived, "Archived"),
            (ProjectStatus::All, "All"),
        ]
        .map(|(status, label)| SectionLink {
            label,
            address: self.with_status(status).address(slug, None),
            is_current: status == self.status,
        })
        .into()
    }

    /// How the page's title calls the list.
    pub(super) const fn title(&self) -> &'static str {
        match self.status {
            ProjectStatus::Active => "Projects",
            ProjectStatus::Archived => "Archived projects",
            ProjectStatus::All => "All projects",
        }
    }

    /// What the table holds: "3 active projects". The words of a search follow.
    pub(super) fn caption(&self, count: usize, has_older: bool) -> String {
        let state = match self.status {
            ProjectStatus::Active => "active ",
            ProjectStatus::Archived => "archived ",
            ProjectStatus::All => "",
        };
        let projects = if count == 1 { "project" } else { "projects" };
        match (self.after, has_older) {
            (None, false) => format!("{count} {state}{projects}"),
            (None, true) => format!("The {count} newest {state}{projects}"),
            (Some(_), _) => format!("{count} older {state}{projects}"),
        }
    }
}

//! Organization Settings → Projects: an owner sees all projects of the organization, a member those
//! that their keys reach.

use askama::Template;
use keyward_domain::administration::Authority;
use keyward_domain::administration::ports::{ProjectFilter, ProjectOverview, ProjectStatus};
use keyward_domain::id::ProjectId;
use keyward_domain::page::{Page, PageRequest, PageSize};
use keyward_domain::project::Project;
use keyward_domain::public_url::PublicUrl;
use poem::{Response, handler};

use crate::forms::{Fields, Query};
use crate::pages::filters;
use crate::pages::list::{Items, List, ListedStatus};
use crate::pages::notice::Notice;
use crate::pages::settings::{Section, Settings};
use crate::paths;
use crate::reader::Member;
use crate::refusal::Refusal;

#[derive(Template)]
#[template(path = "projects.html")]
struct ProjectsPage<'a> {
    settings: Settings,
    notice: Option<Notice>,
    public_url: &'a PublicUrl,
    /// The organization has never had a project.
    is_first_visit: bool,
    title: &'static str,
    items: Items,
    status: ProjectStatus,
    list: List<ProjectId>,
    found: Page<ProjectOverview, ProjectId>,
}

#[derive(Template)]
#[template(path = "own_projects.html")]
struct OwnProjectsPage<'a> {
    settings: Settings,
    notice: Option<Notice>,
    public_url: &'a PublicUrl,
    items: Items,
    list: List<ProjectId>,
    found: Page<Project, ProjectId>,
}

#[handler]
pub(crate) async fn show(member: Member, Query(query): Query) -> Result<Response, Refusal> {
    match member.authority() {
        Some(authority) => all_projects(&member, &authority, &query).await,
        None => own_projects(&member, &query).await,
    }
}

async fn all_projects(member: &Member, authority: &Authority, query: &Fields) -> Result<Response, Refusal> {
    let (status, list) = List::read_with_status(paths::Projects(member.slug()), query)?;
    let projects = &member.console.projects;
    let filter = ProjectFilter::new(status, Some(&list.search));
    let found = projects
        .list(authority, filter, list.request(), member.now)
        .await?;
    let any = ProjectFilter::new(ProjectStatus::All, None);
    let first = PageRequest::first(PageSize::ONE);
    member.page(&ProjectsPage {
        settings: Settings::new(member, Section::Projects),
        notice: Notice::for_member(member).await?,
        public_url: &member.console.public_url,
        is_first_visit: found.items.is_empty()
            && projects
                .list(authority, any, first, member.now)
                .await?
                .items
                .is_empty(),
        title: title(status),
        items: noun(status),
        status,
        list,
        found,
    })
}

/// The projects that the member's keys reach now.
async fn own_projects(member: &Member, query: &Fields) -> Result<Response, Refusal> {
    // A member has no search here, but may have an owner's link.
    let list = List {
        search: String::new(),
        ..List::read(paths::Projects(member.slug()), query)?
    };
    let projects = &member.console.reachable_projects;
    let consumer = member.member.membership.id;
    member.page(&OwnProjectsPage {
        settings: Settings::new(member, Section::Projects),
        notice: Notice::for_member(member).await?,
        public_url: &member.console.public_url,
        items: noun(ProjectStatus::All),
        found: projects.list(consumer, list.request(), member.now).await?,
        list,
    })
}

impl ListedStatus for ProjectStatus {
    const TABS: &'static [(Self, &'static str)] = &[
        (Self::Active, "Active"),
        (Self::Archived, "Archived"),
        (Self::All, "All"),
    ];

    fn query_value(self) -> &'static str {
        self.as_str()
    }
}

/// The page title.
const fn title(status: ProjectStatus) -> &'static str {
    match status {
        ProjectStatus::Active => "Projects",
        ProjectStatus::Archived => "Archived projects",
        ProjectStatus::All => "All projects",
    }
}

/// The words for the table's caption.
const fn noun(status: ProjectStatus) -> Items {
    let (one, several) = match status {
        ProjectStatus::Active => ("active project", "active projects"),
        ProjectStatus::Archived => ("archived project", "archived projects"),
        ProjectStatus::All => ("project", "projects"),
    };
    Items {
        one,
        several,
        later: "older",
    }
}

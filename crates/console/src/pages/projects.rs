//! Organization Settings → Projects: an owner sees all of the organization, a member those that their keys reach.

use std::sync::Arc;

use askama::Template;
use keyward_domain::administration::Authority;
use keyward_domain::administration::ports::{ProjectFilter, ProjectOverview, ProjectStatus};
use keyward_domain::id::ProjectId;
use keyward_domain::organization::Slug;
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::public_url::PublicUrl;
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::{Fields, Query};
use crate::pages::html;
use crate::pages::listing::{Items, ListedStatus, StatusListing};
use crate::pages::moment::Moment;
use crate::pages::own_projects::own_projects;
use crate::pages::settings::{Section, SectionLink, Settings};
use crate::pages::tokenless_address::TokenlessAddress;
use crate::refusal::Refusal;
use crate::viewer::Insider;
use crate::{Console, links};

#[derive(Template)]
#[template(path = "projects.html")]
struct ProjectsPage<'a> {
    settings: Settings,
    public_url: &'a PublicUrl,
    list: String,
    create: String,
    /// The organization has never had a project.
    is_first_visit: bool,
    search: &'a str,
    status: ProjectStatus,
    statuses: Vec<SectionLink>,
    /// The list without its search.
    unsearched: String,
    /// The same search among the projects of every status.
    everywhere: String,
    list_title: &'static str,
    caption: String,
    rows: Vec<Row>,
    newest: Option<String>,
    older: Option<String>,
}

/// A project in the table.
struct Row {
    name: String,
    address: String,
    members: u32,
    created: Moment,
    archived: Option<Moment>,
}

#[handler]
pub(crate) async fn show(
    // First, since whoever has to sign in again goes on with the address.
    TokenlessAddress: TokenlessAddress,
    Data(console): Data<&Arc<Console>>,
    insider: Insider,
    Query(query): Query,
) -> Result<Response, Refusal> {
    match insider.as_authority() {
        Some(authority) => all_projects(console, &insider, &authority, &query).await,
        None => own_projects(console, &insider, &query).await,
    }
}

async fn all_projects(
    console: &Console,
    insider: &Insider,
    authority: &Authority,
    query: &Fields,
) -> Result<Response, Refusal> {
    let listing = StatusListing::<ProjectId, ProjectStatus>::parse(query)?;
    let part = listing.part;
    let slug = &insider.member.organization.slug;
    let list = links::projects(slug);
    let filter = ProjectFilter::new(listing.status, Some(part.search));
    let found = console
        .projects
        .list(authority, filter, part.request(), insider.now)
        .await?;
    let page = ProjectsPage {
        settings: Settings::new(insider, Section::Projects),
        public_url: &console.public_url,
        create: links::new_project(slug),
        is_first_visit: found.items.is_empty() && has_no_project(console, insider, authority).await?,
        search: part.search,
        status: listing.status,
        statuses: listing.tabs(&list),
        unsearched: listing.unsearched(&list),
        everywhere: listing.among(&list, ProjectStatus::All),
        list_title: title(listing.status),
        caption: part.caption(found.items.len(), found.next.is_some(), called(listing.status)),
        newest: listing.newest(&list),
        older: found.next.map(|next| listing.address(&list, Some(next))),
        rows: found.items.iter().map(|overview| row(overview, slug)).collect(),
        list,
    };
    html(StatusCode::OK, &page)
}

impl ListedStatus for ProjectStatus {
    const TABS: &'static [(Self, &'static str)] = &[
        (Self::Active, "Active"),
        (Self::Archived, "Archived"),
        (Self::All, "All"),
    ];

    fn from_word(word: &str) -> Option<Self> {
        Self::from_word(word)
    }

    fn as_str(self) -> &'static str {
        Self::as_str(self)
    }
}

/// How the page's title calls the list.
const fn title(status: ProjectStatus) -> &'static str {
    match status {
        ProjectStatus::Active => "Projects",
        ProjectStatus::Archived => "Archived projects",
        ProjectStatus::All => "All projects",
    }
}

/// How the table's caption calls them.
const fn called(status: ProjectStatus) -> Items {
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

async fn has_no_project(
    console: &Console,
    insider: &Insider,
    authority: &Authority,
) -> Result<bool, Refusal> {
    let any = ProjectFilter::new(ProjectStatus::All, None);
    let request = PageRequest {
        size: PageSize::DEFAULT,
        after: None,
    };
    let found = console
        .projects
        .list(authority, any, request, insider.now)
        .await?;
    Ok(found.items.is_empty())
}

fn row(overview: &ProjectOverview, slug: &Slug) -> Row {
    let project = &overview.project;
    Row {
        name: project.name.to_string(),
        address: links::project(slug, project.id),
        members: overview.members,
        created: Moment(project.created_at),
        archived: project.archived_at.map(Moment),
    }
}

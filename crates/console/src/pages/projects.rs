//! Organization Settings → Projects: an owner sees all of the organization, a member those that their keys reach.

use std::sync::Arc;

use askama::Template;
use keyward_domain::administration::Authority;
use keyward_domain::administration::ports::{ProjectFilter, ProjectOverview, ProjectStatus};
use keyward_domain::organization::Slug;
use keyward_domain::page::{PageRequest, PageSize};
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::{Fields, Query};
use crate::pages::html;
use crate::pages::moment::Moment;
use crate::pages::own_projects::own_projects;
use crate::pages::project_listing::ProjectListing;
use crate::pages::settings::{Section, SectionLink, Settings};
use crate::public_url::PublicUrl;
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
    Data(console): Data<&Arc<Console>>,
    insider: Insider,
    Query(query): Query,
) -> Result<Response, Refusal> {
    match insider.member.as_authority() {
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
    let listing = ProjectListing::parse(query)?;
    let slug = &insider.member.organization.slug;
    let request = PageRequest {
        size: PageSize::DEFAULT,
        after: listing.after,
    };
    let found = console
        .projects
        .list(authority, listing.filter(), request)
        .await?;
    let page = ProjectsPage {
        settings: Settings::new(insider, Section::Projects),
        public_url: &console.public_url,
        list: links::projects(slug),
        create: links::new_project(slug),
        is_first_visit: found.items.is_empty() && has_no_project(console, authority).await?,
        search: listing.search,
        status: listing.status,
        statuses: listing.statuses(slug),
        unsearched: listing.without_search().address(slug, None),
        everywhere: listing.with_status(ProjectStatus::All).address(slug, None),
        list_title: listing.title(),
        caption: listing.caption(found.items.len(), found.next.is_some()),
        newest: listing.after.map(|_| listing.address(slug, None)),
        older: found.next.map(|next| listing.address(slug, Some(next))),
        rows: found.items.iter().map(|overview| row(overview, slug)).collect(),
    };
    html(StatusCode::OK, &page)
}

async fn has_no_project(console: &Console, authority: &Authority) -> Result<bool, Refusal> {
    let any = ProjectFilter::new(ProjectStatus::All, None);
    let request = PageRequest {
        size: PageSize::DEFAULT,
        after: None,
    };
    let found = console.projects.list(authority, any, request).await?;
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

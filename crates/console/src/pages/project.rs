//! One project, as owners see it: its name, its members, and the way to archive it.

use std::sync::Arc;

use askama::Template;
use keyward_domain::administration::Authority;
use keyward_domain::administration::ports::{ChangeProjectError, ProjectMember, ProjectOverview};
use keyward_domain::id::{MembershipId, ProjectId};
use keyward_domain::organization::Slug;
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::project::ProjectName;
use keyward_domain::public_url::PublicUrl;
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::{Fields, Form, Query};
use crate::pages::field::{Field, focus_first_error};
use crate::pages::moment::Moment;
use crate::pages::settings::{Section, Settings};
use crate::pages::{html, redirect};
use crate::path_id::PathId;
use crate::refusal::Refusal;
use crate::request_source::Source;
use crate::viewer::{Insider, Owner};
use crate::{Console, links};

#[derive(Template)]
#[template(path = "project.html")]
struct ProjectPage<'a> {
    settings: Settings,
    public_url: &'a PublicUrl,
    list: String,
    /// This page, where the form with its name leads, too.
    address: String,
    archive: String,
    restore: String,
    add_members: String,
    add_member: String,
    remove_member: String,
    id: String,
    /// What the project is called; `field` is what somebody wants to call it.
    name: String,
    field: Field,
    created: Moment,
    archived: Option<Moment>,
    notice: Option<Notice>,
    /// The owner is no member of the project.
    viewer_is_outside: bool,
    viewer_id: String,
    member_count: u32,
    members: Vec<Row>,
    newest: Option<String>,
    older: Option<String>,
}

/// What has just happened to the project. It is looked up, so that no link can claim it. Only whether the name is a new one
/// cannot be: a link may claim that, of the name that stands there.
enum Notice {
    Created,
    Renamed,
    Archived,
    Restored,
    Added { name: String },
    Removed { name: String, add_again: String },
}

/// A member of the project in the table.
struct Row {
    id: String,
    name: String,
    username: String,
    is_viewer: bool,
    joined: Moment,
}

/// The page of a project that has just been created, saying so.
pub(super) fn after_creation(organization: &Slug, project: ProjectId) -> String {
    saying(organization, project, "notice", "created")
}

/// The page of a project that has just been archived, saying so.
pub(super) fn after_archiving(organization: &Slug, project: ProjectId) -> String {
    saying(organization, project, "notice", "archived")
}

/// The page of a project that has just been restored, saying so.
pub(super) fn after_restoring(organization: &Slug, project: ProjectId) -> String {
    saying(organization, project, "notice", "restored")
}

/// The page of a project to which its owner has just added themselves, saying so.
pub(super) fn after_adding(organization: &Slug, project: ProjectId, member: MembershipId) -> String {
    saying(organization, project, "added", &member.to_string())
}

/// The page of a project from which somebody was just removed, saying so.
pub(super) fn after_removal(organization: &Slug, project: ProjectId, member: MembershipId) -> String {
    saying(organization, project, "removed", &member.to_string())
}

fn saying(organization: &Slug, project: ProjectId, name: &str, value: &str) -> String {
    links::with_query(&links::project(organization, project), [(name, Some(value))])
}

#[handler]
pub(crate) async fn show(
    Data(console): Data<&Arc<Console>>,
    Owner { insider, authority }: Owner,
    PathId(id): PathId<ProjectId>,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let overview = find(console, &insider, &authority, id).await?;
    let mut page = page(console, &insider, &authority, &overview, &query).await?;
    page.notice = notice(console, &insider, &authority, &overview, &query).await?;
    html(StatusCode::OK, &page)
}

#[handler]
pub(crate) async fn rename(
    Data(console): Data<&Arc<Console>>,
    PathId(id): PathId<ProjectId>,
    Source(source): Source,
    Query(query): Query,
    Form(form): Form,
    // After the form, which may be long on its way: who sends it must still run the organization when it is here.
    Owner { insider, authority }: Owner,
) -> Result<Response, Refusal> {
    let mut field = Field::with_value(form.required("name")?);
    let name = ProjectName::parse(&field.value);
    let Some(name) = field.check("Name", name) else {
        focus_first_error(&mut [&mut field]);
        let overview = find(console, &insider, &authority, id).await?;
        let page = ProjectPage {
            field,
            ..page(console, &insider, &authority, &overview, &query).await?
        };
        return html(StatusCode::UNPROCESSABLE_ENTITY, &page);
    };
    match console.projects.rename(&authority, id, name, source).await {
        Ok(()) => Ok(redirect(&saying(
            &insider.member.organization.slug,
            id,
            "notice",
            "renamed",
        ))),
        Err(error) => Err(not_changed(error)),
    }
}

/// The project of the organization. Others do not exist here.
pub(super) async fn find(
    console: &Console,
    insider: &Insider,
    authority: &Authority,
    id: ProjectId,
) -> Result<ProjectOverview, Refusal> {
    let project = console.projects.find(authority, id, insider.now).await?;
    project.ok_or(Refusal::NotFound)
}

pub(super) fn not_changed(error: ChangeProjectError) -> Refusal {
    match error {
        ChangeProjectError::NotAllowed | ChangeProjectError::NotFound => Refusal::NotFound,
        ChangeProjectError::Storage(error) => error.into(),
    }
}

async fn page<'a>(
    console: &'a Console,
    insider: &Insider,
    authority: &Authority,
    overview: &ProjectOverview,
    query: &Fields,
) -> Result<ProjectPage<'a>, Refusal> {
    let project = &overview.project;
    let slug = &insider.member.organization.slug;
    let viewer = insider.member.membership.id;
    let after = match query.optional("after") {
        None => None,
        Some(id) => Some(id.parse().map_err(|_| Refusal::BadAddress)?),
    };
    let request = PageRequest {
        size: PageSize::DEFAULT,
        after,
    };
    let members = console
        .projects
        .members(authority, project.id, request, insider.now)
        .await?;
    let inside = console
        .projects
        .members_among(authority, project.id, &[viewer], insider.now)
        .await?;
    let address = links::project(slug, project.id);
    Ok(ProjectPage {
        settings: Settings::new(insider, Section::Projects),
        public_url: &console.public_url,
        list: links::projects(slug),
        archive: links::archive_project(slug, project.id),
        restore: links::restore_project(slug, project.id),
        add_members: links::add_project_members(slug, project.id),
        add_member: links::with_query(
            &links::add_project_members(slug, project.id),
            [("then", Some("project"))],
        ),
        remove_member: links::remove_project_member(slug, project.id),
        id: project.id.to_string(),
        name: project.name.to_string(),
        field: Field::with_value(project.name.as_str()),
        created: Moment(project.created_at),
        archived: project.archived_at.map(Moment),
        notice: None,
        viewer_is_outside: inside.is_empty(),
        viewer_id: viewer.to_string(),
        member_count: overview.members,
        members: members.items.iter().map(|member| row(member, viewer)).collect(),
        newest: after.map(|_| address.clone()),
        older: members
            .next
            .map(|next| links::with_query(&address, [("after", Some(&*next.to_string()))])),
        address,
    })
}

fn row(member: &ProjectMember, viewer: MembershipId) -> Row {
    Row {
        id: member.membership.id.to_string(),
        name: member.user.display_name.to_string(),
        username: member.user.username.to_string(),
        is_viewer: member.membership.id == viewer,
        joined: Moment(member.membership.joined_at),
    }
}

async fn notice(
    console: &Console,
    insider: &Insider,
    authority: &Authority,
    overview: &ProjectOverview,
    query: &Fields,
) -> Result<Option<Notice>, Refusal> {
    let slug = &insider.member.organization.slug;
    let is_active = overview.project.is_active();
    match query.optional("notice") {
        Some("created") if is_active && overview.members == 0 => return Ok(Some(Notice::Created)),
        Some("renamed") => return Ok(Some(Notice::Renamed)),
        Some("archived") if !is_active => return Ok(Some(Notice::Archived)),
        Some("restored") if is_active => return Ok(Some(Notice::Restored)),
        Some(_) | None => {}
    }
    for (word, is_in) in [("added", true), ("removed", false)] {
        let Some(id) = query.optional(word).and_then(|id| id.parse().ok()) else {
            continue;
        };
        let inside = console
            .projects
            .members_among(authority, overview.project.id, &[id], insider.now)
            .await?;
        if inside.contains(&id) == is_in
            && let Some(member) = console.members.identify(authority, id, insider.now).await?
        {
            let name = member.user.display_name.to_string();
            return Ok(Some(if is_in {
                Notice::Added { name }
            } else {
                Notice::Removed {
                    name,
                    add_again: links::with_query(
                        &links::add_project_members(slug, overview.project.id),
                        [("search", Some(member.user.username.as_str()))],
                    ),
                }
            }));
        }
    }
    Ok(None)
}

//! One project, as owners see it: its name, its members, and the way to archive it.

use askama::Template;
use keyward_domain::administration::ports::{MemberProfile, ProjectOverview};
use keyward_domain::id::{MembershipId, ProjectId};
use keyward_domain::page::Page;
use keyward_domain::project::ProjectName;
use keyward_domain::public_url::PublicUrl;
use poem::http::StatusCode;
use poem::{Response, handler};

use crate::answer::html;
use crate::flash::Message;
use crate::forms::{Fields, OwnerForm, Query, Sent};
use crate::pages::field::Field;
use crate::pages::filters;
use crate::pages::list::List;
use crate::pages::notice::Notice;
use crate::pages::settings::{Section, Settings};
use crate::path_id::PathId;
use crate::paths;
use crate::reader::Owner;
use crate::refusal::Refusal;

#[derive(Template)]
#[template(path = "project.html")]
struct ProjectPage<'a> {
    settings: Settings,
    notice: Option<Notice>,
    public_url: &'a PublicUrl,
    overview: ProjectOverview,
    name: Field,
    /// The name that the form was opened with.
    name_seen: String,
    /// The project was renamed since.
    is_outdated: bool,
    viewer: MembershipId,
    /// The owner is no member of the project.
    viewer_is_outside: bool,
    list: List<MembershipId>,
    members: Page<MemberProfile, MembershipId>,
}

#[handler]
pub(crate) async fn show(
    owner: Owner,
    PathId(id): PathId<ProjectId>,
    Query(query): Query,
) -> Result<Response, Refusal> {
    owner.page(&page(&owner, id, &query, None).await?)
}

#[handler]
pub(crate) async fn rename(
    Sent(owner, form, source): OwnerForm,
    PathId(id): PathId<ProjectId>,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let mut field = Field::with_value(form.required("name")?);
    let Some(name) = field.check("Name", ProjectName::parse(&field.value)) else {
        field.focused = true;
        let page = page(&owner, id, &query, Some(field)).await?;
        let page = ProjectPage {
            name_seen: form.seen(&page.name_seen),
            ..page
        };
        return Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page)?);
    };
    let now = find(&owner, id).await?.project.name;
    if form.seen(now.as_str()) != now.as_str() && name != now {
        let page = ProjectPage {
            is_outdated: true,
            ..page(&owner, id, &query, Some(field)).await?
        };
        return Ok(html(StatusCode::CONFLICT, &page)?);
    }
    owner
        .console
        .projects
        .rename(&owner.authority, id, name, source)
        .await?;
    let project = paths::Project(owner.slug(), &id);
    Ok(owner.redirect(project, Message::ProjectRenamed.about(id.as_uuid())))
}

/// The project of the organization. Others do not exist here.
pub(super) async fn find(owner: &Owner, id: ProjectId) -> Result<ProjectOverview, Refusal> {
    let project = owner
        .console
        .projects
        .find(&owner.authority, id, owner.now)
        .await?;
    project.ok_or(Refusal::NotFound)
}

async fn page<'a>(
    owner: &'a Owner,
    id: ProjectId,
    query: &Fields,
    name: Option<Field>,
) -> Result<ProjectPage<'a>, Refusal> {
    let overview = find(owner, id).await?;
    let list = List::read(paths::Project(owner.slug(), &id), query)?;
    let (projects, authority) = (&owner.console.projects, &owner.authority);
    let viewer = owner.member.membership.id;
    let mut notice = Notice::for_owner(owner).await?;
    if let Some(notice) = &mut notice {
        let add = paths::AddProjectMembers(owner.slug(), &id);
        notice.again = paths::with_query(add, [("search", Some(notice.name.as_str()))]);
    }
    Ok(ProjectPage {
        settings: Settings::new(owner, Section::Projects),
        notice,
        public_url: &owner.console.public_url,
        name: name.unwrap_or_else(|| Field::with_value(overview.project.name.as_str())),
        name_seen: overview.project.name.to_string(),
        overview,
        is_outdated: false,
        viewer,
        viewer_is_outside: projects
            .members_among(authority, id, &[viewer], owner.now)
            .await?
            .is_empty(),
        members: projects.members(authority, id, list.request(), owner.now).await?,
        list,
    })
}

//! Adding members of the organization to a project, and removing them from it.

use std::collections::HashSet;

use askama::Template;
use keyward_domain::administration::ports::{MemberFilter, MemberOverview, ProjectOverview};
use keyward_domain::id::{MembershipId, ProjectId};
use keyward_domain::page::Page;
use poem::{Response, handler};

use crate::flash::Message;
use crate::forms::{Fields, OwnerForm, Query, Sent};
use crate::pages::list::List;
use crate::pages::notice::Notice;
use crate::pages::project::find;
use crate::pages::settings::{Section, Settings};
use crate::path_id::PathId;
use crate::paths;
use crate::reader::Owner;
use crate::refusal::Refusal;

#[derive(Template)]
#[template(path = "add_project_members.html")]
struct AddProjectMembersPage {
    settings: Settings,
    notice: Option<Notice>,
    overview: ProjectOverview,
    list: List<MembershipId>,
    found: Page<MemberOverview, MembershipId>,
    /// Those of them who are in the project.
    inside: HashSet<MembershipId>,
}

#[handler]
pub(crate) async fn show(
    owner: Owner,
    PathId(id): PathId<ProjectId>,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let list = List::read(paths::AddProjectMembers(owner.slug(), &id), &query)?;
    let overview = find(&owner, id).await?;
    let filter = MemberFilter::new(Some(&list.search));
    let found = owner
        .console
        .members
        .list(&owner.authority, filter, list.request(), owner.now)
        .await?;
    let ids: Vec<MembershipId> = found.items.iter().map(|member| member.membership.id).collect();
    owner.page(&AddProjectMembersPage {
        settings: Settings::new(&owner, Section::Projects),
        notice: Notice::for_owner(&owner).await?,
        overview,
        list,
        found,
        inside: owner
            .console
            .projects
            .members_among(&owner.authority, id, &ids, owner.now)
            .await?,
    })
}

#[handler]
pub(crate) async fn add(
    Sent(owner, form, source): OwnerForm,
    PathId(id): PathId<ProjectId>,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let member = member_in(&form)?;
    let list = List::<MembershipId>::read(paths::AddProjectMembers(owner.slug(), &id), &query)?;
    owner
        .console
        .projects
        .add_member(&owner.authority, id, member, source)
        .await?;
    // Owners add themselves on the project's page, to which they return; to add others one after the other, they stay
    // here.
    let page = if query.optional("then") == Some("project") {
        paths::Project(owner.slug(), &id).to_string()
    } else {
        list.url()
    };
    Ok(owner.redirect(page, Message::ProjectMemberAdded.about(member.as_uuid())))
}

#[handler]
pub(crate) async fn remove(
    Sent(owner, form, source): OwnerForm,
    PathId(id): PathId<ProjectId>,
) -> Result<Response, Refusal> {
    let member = member_in(&form)?;
    owner
        .console
        .projects
        .remove_member(&owner.authority, id, member, source)
        .await?;
    let project = paths::Project(owner.slug(), &id);
    Ok(owner.redirect(project, Message::ProjectMemberRemoved.about(member.as_uuid())))
}

/// The member that a form names; not found if it is no identifier.
fn member_in(form: &Fields) -> Result<MembershipId, Refusal> {
    form.required("member")?.parse().map_err(|_| Refusal::NotFound)
}

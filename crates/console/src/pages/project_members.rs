//! Adding members of the organization to a project, and removing them from it.

use std::sync::Arc;

use askama::Template;
use keyward_domain::administration::ports::{ChangeProjectMembersError, MemberFilter};
use keyward_domain::id::{MembershipId, ProjectId};
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::{Fields, Form, Query};
use crate::pages::listing::Listing;
use crate::pages::members::MEMBERS;
use crate::pages::project::{after_adding, after_removal, find};
use crate::pages::settings::{Section, Settings};
use crate::pages::tokenless_address::TokenlessAddress;
use crate::pages::{html, redirect};
use crate::path_id::PathId;
use crate::refusal::Refusal;
use crate::request_source::Source;
use crate::viewer::Owner;
use crate::{Console, links};

#[derive(Template)]
#[template(path = "add_project_members.html")]
struct AddProjectMembersPage<'a> {
    settings: Settings,
    /// The project's own page.
    project: String,
    name: String,
    /// The address of this page without its query.
    list: String,
    /// The address of this very page.
    address: String,
    search: &'a str,
    caption: String,
    rows: Vec<Row>,
    added: Option<String>,
    newest: Option<String>,
    older: Option<String>,
}

/// A member of the organization in the table.
struct Row {
    id: String,
    name: String,
    username: String,
    is_inside: bool,
}

#[handler]
pub(crate) async fn show(
    // First, since whoever has to sign in again goes on with the address.
    TokenlessAddress: TokenlessAddress,
    Data(console): Data<&Arc<Console>>,
    Owner { insider, authority }: Owner,
    PathId(id): PathId<ProjectId>,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let listing = Listing::<MembershipId>::parse(&query)?;
    let overview = find(console, &insider, &authority, id).await?;
    let filter = MemberFilter::new(Some(listing.search));
    let found = console
        .members
        .list(&authority, filter, listing.request(), insider.now)
        .await?;
    let ids: Vec<MembershipId> = found.items.iter().map(|member| member.membership.id).collect();
    let inside = console
        .projects
        .members_among(&authority, id, &ids, insider.now)
        .await?;
    let added = query.optional("added").and_then(|id| id.parse().ok());
    let slug = &insider.member.organization.slug;
    let list = links::add_project_members(slug, id);
    let page = AddProjectMembersPage {
        settings: Settings::new(&insider, Section::Projects),
        project: links::project(slug, id),
        name: overview.project.name.to_string(),
        address: listing.address(&list, listing.after, []),
        search: listing.search,
        caption: listing.caption(found.items.len(), found.next.is_some(), MEMBERS),
        // Whoever was added is on this page and in the project, so that no link can claim it.
        added: found
            .items
            .iter()
            .find(|member| Some(member.membership.id) == added && inside.contains(&member.membership.id))
            .map(|member| member.user.display_name.to_string()),
        newest: listing.newest(&list, []),
        older: found.next.map(|next| listing.address(&list, Some(next), [])),
        rows: found
            .items
            .iter()
            .map(|member| Row {
                id: member.membership.id.to_string(),
                name: member.user.display_name.to_string(),
                username: member.user.username.to_string(),
                is_inside: inside.contains(&member.membership.id),
            })
            .collect(),
        list,
    };
    html(StatusCode::OK, &page)
}

#[handler]
pub(crate) async fn add(
    Data(console): Data<&Arc<Console>>,
    PathId(id): PathId<ProjectId>,
    Source(source): Source,
    Query(query): Query,
    Form(form): Form,
    // After the form, which may be long on its way: who sends it must still run the organization when it is here.
    Owner { insider, authority }: Owner,
) -> Result<Response, Refusal> {
    let member = member_in(&form)?;
    let listing = Listing::<MembershipId>::parse(&query)?;
    let added = console.projects.add_member(&authority, id, member, source).await;
    added.map_err(not_changed)?;
    let slug = &insider.member.organization.slug;
    // An owner who adds themselves does so on the project's page; others are looked for, one after the other, here.
    if query.optional("then") == Some("project") {
        return Ok(redirect(&after_adding(slug, id, member)));
    }
    let list = links::add_project_members(slug, id);
    let member = member.to_string();
    let saying = [("added", Some(member.as_str()))];
    Ok(redirect(&listing.address(&list, listing.after, saying)))
}

#[handler]
pub(crate) async fn remove(
    Data(console): Data<&Arc<Console>>,
    PathId(id): PathId<ProjectId>,
    Source(source): Source,
    Form(form): Form,
    // After the form, which may be long on its way: who sends it must still run the organization when it is here.
    Owner { insider, authority }: Owner,
) -> Result<Response, Refusal> {
    let member = member_in(&form)?;
    let removed = console
        .projects
        .remove_member(&authority, id, member, source)
        .await;
    removed.map_err(not_changed)?;
    let slug = &insider.member.organization.slug;
    Ok(redirect(&after_removal(slug, id, member)))
}

/// The member that a form names. What is no identifier names nobody.
fn member_in(form: &Fields) -> Result<MembershipId, Refusal> {
    form.required("member")?.parse().map_err(|_| Refusal::NotFound)
}

fn not_changed(error: ChangeProjectMembersError) -> Refusal {
    match error {
        ChangeProjectMembersError::NotAllowed
        | ChangeProjectMembersError::ProjectNotFound
        | ChangeProjectMembersError::MemberNotFound => Refusal::NotFound,
        ChangeProjectMembersError::Storage(error) => error.into(),
    }
}

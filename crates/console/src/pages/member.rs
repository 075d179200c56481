//! One member, as owners see them: role, and the way to removal.

use std::sync::Arc;

use askama::Template;
use keyward_domain::administration::Authority;
use keyward_domain::administration::ports::{ChangeRoleError, MemberOverview};
use keyward_domain::id::MembershipId;
use keyward_domain::membership::Role;
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::{Form, Query};
use crate::pages::moment::Moment;
use crate::pages::settings::{Section, Settings};
use crate::pages::{html, redirect};
use crate::path_id::PathId;
use crate::refusal::Refusal;
use crate::request_source::Source;
use crate::viewer::{Insider, Owner};
use crate::{Console, links};

#[derive(Template)]
#[template(path = "member.html")]
struct MemberPage {
    settings: Settings,
    list: String,
    name: String,
    username: String,
    is_viewer: bool,
    role: Role,
    joined: Moment,
    valid_keys: u32,
    projects: u32,
    /// Where the other role is given.
    change_role: String,
    /// Where the membership ends.
    end: String,
    has_new_role: bool,
    /// Nobody else runs the organization, so they have to stay its owner.
    is_last_owner: bool,
    /// Somebody wanted them to be a plain member.
    was_refused: bool,
}

#[handler]
pub(crate) async fn show(
    Data(console): Data<&Arc<Console>>,
    Owner { insider, authority }: Owner,
    PathId(id): PathId<MembershipId>,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let member = find(console, &authority, id).await?;
    let page = MemberPage {
        // The page tells the role that they have, so no link can claim another.
        has_new_role: query.optional("role") == Some("changed"),
        ..MemberPage::new(console, &insider, &member).await?
    };
    html(StatusCode::OK, &page)
}

#[handler]
pub(crate) async fn change_role(
    Data(console): Data<&Arc<Console>>,
    PathId(id): PathId<MembershipId>,
    Source(source): Source,
    Form(form): Form,
    // After the form, which may be long on its way: who sends it must still run the organization when it is here.
    Owner { insider, authority }: Owner,
) -> Result<Response, Refusal> {
    let role = Role::from_word(form.required("role")?).ok_or(Refusal::BadForm("There is no such role."))?;
    let slug = &insider.member.organization.slug;
    match console.members.change_role(&authority, id, role, source).await {
        // Whoever is no owner any more does not see these pages any more.
        Ok(()) if id == insider.member.membership.id && role == Role::Member => {
            Ok(redirect(&links::general(slug)))
        }
        Ok(()) => Ok(redirect(&links::with_query(
            &links::member(slug, id),
            [("role", Some("changed"))],
        ))),
        Err(ChangeRoleError::LastOwner) => {
            let page = MemberPage {
                is_last_owner: true,
                was_refused: true,
                ..MemberPage::new(console, &insider, &find(console, &authority, id).await?).await?
            };
            html(StatusCode::CONFLICT, &page)
        }
        Err(ChangeRoleError::NotAllowed | ChangeRoleError::NotFound) => Err(Refusal::NotFound),
        Err(ChangeRoleError::Storage(error)) => Err(error.into()),
    }
}

/// A live member of the organization. Others do not exist here.
pub(super) async fn find(
    console: &Console,
    authority: &Authority,
    id: MembershipId,
) -> Result<MemberOverview, Refusal> {
    let member = console.members.find(authority, id).await?;
    member.ok_or(Refusal::NotFound)
}

impl MemberPage {
    async fn new(console: &Console, insider: &Insider, member: &MemberOverview) -> Result<Self, Refusal> {
        let slug = &insider.member.organization.slug;
        let id = member.membership.id;
        let is_viewer = id == insider.member.membership.id;
        Ok(Self {
            settings: Settings::new(insider, Section::Members),
            list: links::members(slug),
            name: member.user.display_name.to_string(),
            username: member.user.username.to_string(),
            is_viewer,
            role: member.membership.role,
            joined: Moment(member.membership.joined_at),
            valid_keys: member.valid_keys,
            projects: member.projects,
            change_role: links::change_role(slug, id),
            end: if is_viewer {
                links::leave(slug)
            } else {
                links::remove_member(slug, id)
            },
            has_new_role: false,
            is_last_owner: console.members.is_last_owner(&member.membership).await?,
            was_refused: false,
        })
    }
}

//! Giving a member another role, deliberately: what it means is told before.

use std::sync::Arc;

use askama::Template;
use keyward_domain::administration::ports::{ChangeRoleError, KeyHolder};
use keyward_domain::id::MembershipId;
use keyward_domain::membership::Role;
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::Form;
use crate::pages::member::{identify, last_owner_stays};
use crate::pages::settings::{Section, Settings};
use crate::pages::what_stops::open_invitations;
use crate::pages::{general, html, redirect};
use crate::path_id::PathId;
use crate::refusal::Refusal;
use crate::request_source::Source;
use crate::viewer::{Insider, Owner};
use crate::{Console, links};

#[derive(Template)]
#[template(path = "change_role.html")]
struct ChangeRolePage {
    settings: Settings,
    /// The member's own page.
    member: String,
    name: String,
    username: String,
    is_viewer: bool,
    /// What they are to be.
    role: Role,
    /// How many invitations an owner has open, which are taken back with the role.
    open_invitations: u64,
    confirmation_missing: bool,
}

#[handler]
pub(crate) async fn show(
    Data(console): Data<&Arc<Console>>,
    Owner { insider, authority }: Owner,
    PathId(id): PathId<MembershipId>,
) -> Result<Response, Refusal> {
    let member = identify(console, &insider, &authority, id).await?;
    // Their page says why not.
    if console
        .members
        .is_last_owner(&member.membership, insider.now)
        .await?
    {
        return Ok(redirect(&links::member(&insider.member.organization.slug, id)));
    }
    let other = match member.membership.role {
        Role::Owner => Role::Member,
        Role::Member => Role::Owner,
    };
    let page = ChangeRolePage::new(console, &insider, &member, other).await?;
    html(StatusCode::OK, &page)
}

#[handler]
pub(crate) async fn submit(
    Data(console): Data<&Arc<Console>>,
    PathId(id): PathId<MembershipId>,
    Source(source): Source,
    Form(form): Form,
    // After the form, which may be long on its way: who sends it must still run the organization when it is here.
    Owner { insider, authority }: Owner,
) -> Result<Response, Refusal> {
    let role = Role::from_word(form.required("role")?)
        .ok_or(Refusal::BadForm("A choice in the form is invalid."))?;
    let slug = &insider.member.organization.slug;
    if form.optional("confirm") != Some("yes") {
        let member = identify(console, &insider, &authority, id).await?;
        let page = ChangeRolePage {
            confirmation_missing: true,
            ..ChangeRolePage::new(console, &insider, &member, role).await?
        };
        return html(StatusCode::UNPROCESSABLE_ENTITY, &page);
    }
    match console.members.change_role(&authority, id, role, source).await {
        // Whoever is no owner any more does not see these pages any more.
        Ok(()) if id == insider.member.membership.id && role == Role::Member => {
            Ok(redirect(&general::after_stepping_down(slug)))
        }
        Ok(()) => Ok(redirect(&links::with_query(
            &links::member(slug, id),
            [("role", Some("changed"))],
        ))),
        Err(ChangeRoleError::LastOwner) => last_owner_stays(console, &insider, &authority, id).await,
        Err(ChangeRoleError::NotAllowed | ChangeRoleError::NotFound) => Err(Refusal::NotFound),
        Err(ChangeRoleError::Storage(error)) => Err(error.into()),
    }
}

impl ChangeRolePage {
    async fn new(
        console: &Console,
        insider: &Insider,
        member: &KeyHolder,
        role: Role,
    ) -> Result<Self, Refusal> {
        let id = member.membership.id;
        Ok(Self {
            settings: Settings::new(insider, Section::Members),
            member: links::member(&insider.member.organization.slug, id),
            name: member.user.display_name.to_string(),
            username: member.user.username.to_string(),
            is_viewer: id == insider.member.membership.id,
            role,
            open_invitations: open_invitations(console, &member.membership, insider.now).await?,
            confirmation_missing: false,
        })
    }
}

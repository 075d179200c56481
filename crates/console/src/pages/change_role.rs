//! The confirmation page for changing a member's role, with its consequences.

use askama::Template;
use keyward_domain::administration::ports::{ChangeRoleError, MemberProfile};
use keyward_domain::id::MembershipId;
use keyward_domain::membership::Role;
use poem::http::StatusCode;
use poem::{Response, handler};

use crate::answer::{html, redirect};
use crate::flash::Message;
use crate::forms::{OwnerForm, Sent};
use crate::pages::member::{identify, last_owner_stays};
use crate::pages::membership_end_preview::open_invitations;
use crate::pages::settings::{Section, Settings};
use crate::path_id::PathId;
use crate::paths;
use crate::reader::Owner;
use crate::refusal::Refusal;

#[derive(Template)]
#[template(path = "change_role.html")]
struct ChangeRolePage {
    settings: Settings,
    member: MemberProfile,
    is_viewer: bool,
    role: Role,
    /// How many invitations an owner has open, which are revoked with the role.
    open_invitations: u64,
    confirmation_missing: bool,
}

#[handler]
pub(crate) async fn show(owner: Owner, PathId(id): PathId<MembershipId>) -> Result<Response, Refusal> {
    let member = identify(&owner, id).await?;
    // Their page says why not.
    if owner.console.members.is_last_owner(&member.membership).await? {
        return Ok(redirect(paths::Member(owner.slug(), &id)));
    }
    let other = match member.membership.role {
        Role::Owner => Role::Member,
        Role::Member => Role::Owner,
    };
    page(&owner, member, other, StatusCode::OK).await
}

#[handler]
pub(crate) async fn submit(
    Sent(owner, form, source): OwnerForm,
    PathId(id): PathId<MembershipId>,
) -> Result<Response, Refusal> {
    let role = Role::from_word(form.required("role")?)
        .ok_or(Refusal::BadForm("A choice in the form is invalid."))?;
    if !form.is_confirmed() {
        let member = identify(&owner, id).await?;
        return page(&owner, member, role, StatusCode::UNPROCESSABLE_ENTITY).await;
    }
    match owner
        .console
        .members
        .change_role(&owner.authority, id, role, source)
        .await
    {
        // A former owner does not have access to these pages.
        Ok(()) if id == owner.member.membership.id && role == Role::Member => {
            Ok(owner.redirect(paths::General(owner.slug()), Message::SteppedDown))
        }
        Ok(()) => {
            let message = match role {
                Role::Owner => Message::MadeOwner,
                Role::Member => Message::MadeMember,
            };
            Ok(owner.redirect(paths::Member(owner.slug(), &id), message.about(id.as_uuid())))
        }
        Err(ChangeRoleError::LastOwner) => last_owner_stays(&owner, id).await,
        Err(error) => Err(error.into()),
    }
}

async fn page(
    owner: &Owner,
    member: MemberProfile,
    role: Role,
    status: StatusCode,
) -> Result<Response, Refusal> {
    let open = open_invitations(&owner.console, &member.membership, owner.now).await?;
    let page = ChangeRolePage {
        settings: Settings::new(owner, Section::Members),
        is_viewer: member.membership.id == owner.member.membership.id,
        role,
        open_invitations: open.by_user,
        confirmation_missing: status != StatusCode::OK,
        member,
    };
    Ok(html(status, &page)?)
}

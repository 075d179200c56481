//! The confirmation page for removing a member, with a preview of what stops working.

use askama::Template;
use keyward_domain::administration::ports::{EndMembershipError, HeldKey, MemberProfile};
use keyward_domain::audit::Subject;
use keyward_domain::id::MembershipId;
use poem::http::StatusCode;
use poem::{Response, handler};

use crate::answer::{html, redirect};
use crate::flash::Message;
use crate::forms::{OwnerForm, Sent};
use crate::pages::filters;
use crate::pages::member::{former_member, identify};
use crate::pages::membership_end_preview::MembershipEndPreview;
use crate::pages::settings::{Section, Settings};
use crate::path_id::PathId;
use crate::paths;
use crate::reader::Owner;
use crate::refusal::Refusal;

#[derive(Template)]
#[template(path = "remove_member.html")]
struct RemoveMemberPage {
    settings: Settings,
    member: MemberProfile,
    stops: MembershipEndPreview<HeldKey>,
    confirmation_missing: bool,
    is_last_owner: bool,
}

#[handler]
pub(crate) async fn show(owner: Owner, PathId(id): PathId<MembershipId>) -> Result<Response, Refusal> {
    if id == owner.member.membership.id {
        return Ok(redirect(paths::Leave(owner.slug())));
    }
    page(&owner, id, StatusCode::OK).await
}

#[handler]
pub(crate) async fn submit(
    Sent(owner, form, source): OwnerForm,
    PathId(id): PathId<MembershipId>,
) -> Result<Response, Refusal> {
    if id == owner.member.membership.id {
        return Ok(redirect(paths::Leave(owner.slug())));
    }
    if !form.is_confirmed() {
        return page(&owner, id, StatusCode::UNPROCESSABLE_ENTITY).await;
    }
    match owner.console.members.remove(&owner.authority, id, source).await {
        Ok(()) => {
            let removed = Message::MemberRemoved.about(id.as_uuid());
            Ok(owner.redirect(paths::Members(owner.slug()), removed))
        }
        // This request may be the second of two.
        Err(EndMembershipError::NotFound) => former_member(&owner, Subject::Membership(id)).await,
        Err(EndMembershipError::LastOwner) => page(&owner, id, StatusCode::CONFLICT).await,
        Err(error) => Err(error.into()),
    }
}

async fn page(owner: &Owner, id: MembershipId, status: StatusCode) -> Result<Response, Refusal> {
    let member = identify(owner, id).await?;
    let stops = MembershipEndPreview::on_removal(owner, &member).await;
    let page = RemoveMemberPage {
        settings: Settings::new(owner, Section::Members),
        stops,
        confirmation_missing: status == StatusCode::UNPROCESSABLE_ENTITY,
        is_last_owner: status == StatusCode::CONFLICT,
        member,
    };
    Ok(html(status, &page)?)
}

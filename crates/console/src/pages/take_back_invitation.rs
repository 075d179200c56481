//! Taking an invitation back, deliberately: its link cannot be made anew. The script shows this page's form in a dialog on
//! the list.

use std::sync::Arc;

use askama::Template;
use keyward_domain::administration::Authority;
use keyward_domain::administration::ports::RevokeInvitationError;
use keyward_domain::id::InvitationId;
use keyward_domain::invitation::Invitation;
use keyward_domain::page::{PageRequest, PageSize};
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};
use uuid::Uuid;

use crate::forms::Form;
use crate::pages::invitations::{after_being_late, after_taking_back};
use crate::pages::moment::Moment;
use crate::pages::settings::{Section, Settings};
use crate::pages::{html, redirect};
use crate::path_id::PathId;
use crate::refusal::Refusal;
use crate::request_source::Source;
use crate::viewer::Owner;
use crate::{Console, links};

#[derive(Template)]
#[template(path = "take_back_invitation.html")]
struct TakeBackInvitationPage {
    settings: Settings,
    list: String,
    address: String,
    invitee: String,
    created: Moment,
    is_open: bool,
}

#[handler]
pub(crate) async fn show(
    Data(console): Data<&Arc<Console>>,
    Owner { insider, authority }: Owner,
    PathId(id): PathId<InvitationId>,
) -> Result<Response, Refusal> {
    let slug = &insider.member.organization.slug;
    let invitation = find(console, &authority, id).await?.ok_or(Refusal::NotFound)?;
    let page = TakeBackInvitationPage {
        settings: Settings::new(&insider, Section::Members),
        list: links::invitations(slug),
        address: links::take_back_invitation(slug, id),
        invitee: invitation.invitee.to_string(),
        created: Moment(invitation.created_at),
        is_open: invitation.is_open(insider.now),
    };
    html(StatusCode::OK, &page)
}

#[handler]
pub(crate) async fn submit(
    Data(console): Data<&Arc<Console>>,
    PathId(id): PathId<InvitationId>,
    Source(source): Source,
    Form(form): Form,
    // After the form, which may be long on its way: who sends it must still run the organization when it is here.
    Owner { insider, authority }: Owner,
) -> Result<Response, Refusal> {
    let slug = &insider.member.organization.slug;
    let was_open = form.optional("expired").is_none();
    match console.invitations.revoke(&authority, id, source).await {
        Ok(()) => Ok(redirect(&after_taking_back(slug, was_open))),
        Err(RevokeInvitationError::Accepted) => Ok(redirect(&after_being_late(slug))),
        Err(RevokeInvitationError::NotAllowed | RevokeInvitationError::NotFound) => Err(Refusal::NotFound),
        Err(RevokeInvitationError::Storage(error)) => Err(error.into()),
    }
}

/// The one, if it was neither used nor taken back: the first of those that are no newer.
async fn find(
    console: &Console,
    authority: &Authority,
    id: InvitationId,
) -> Result<Option<Invitation>, Refusal> {
    let newer = Uuid::from_u128(id.as_uuid().as_u128().saturating_add(1));
    let page = PageRequest {
        size: PageSize::ONE,
        after: Some(InvitationId::from_uuid(newer)),
    };
    let found = console.invitations.pending(authority, page).await?;
    Ok(found.items.into_iter().find(|invitation| invitation.id == id))
}

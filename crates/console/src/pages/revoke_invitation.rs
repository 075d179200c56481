//! The confirmation page for revoking an invitation, whose link cannot be restored. The script shows its form in a
//! dialog on the list.

use askama::Template;
use keyward_domain::administration::ports::RevokeInvitationError;
use keyward_domain::id::InvitationId;
use keyward_domain::invitation::Invitation;
use keyward_domain::page::{PageRequest, PageSize};
use poem::{Response, handler};
use uuid::Uuid;

use crate::flash::Message;
use crate::forms::{OwnerForm, Sent};
use crate::pages::filters;
use crate::pages::settings::{Section, Settings};
use crate::path_id::PathId;
use crate::paths;
use crate::reader::Owner;
use crate::refusal::Refusal;

#[derive(Template)]
#[template(path = "revoke_invitation.html")]
struct RevokeInvitationPage {
    settings: Settings,
    invitation: Invitation,
    is_open: bool,
}

#[handler]
pub(crate) async fn show(owner: Owner, PathId(id): PathId<InvitationId>) -> Result<Response, Refusal> {
    let invitation = find(&owner, id).await?;
    owner.page(&RevokeInvitationPage {
        settings: Settings::new(&owner, Section::Members),
        is_open: invitation.is_open(owner.now),
        invitation,
    })
}

#[handler]
pub(crate) async fn submit(
    Sent(owner, form, source): OwnerForm,
    PathId(id): PathId<InvitationId>,
) -> Result<Response, Refusal> {
    let message = match owner
        .console
        .invitations
        .revoke(&owner.authority, id, source)
        .await
    {
        Ok(()) if form.optional("expired").is_some() => Message::InvitationDeleted,
        Ok(()) => Message::InvitationRevoked,
        Err(RevokeInvitationError::Accepted) => Message::InvitationUsed,
        Err(error) => return Err(error.into()),
    };
    Ok(owner.redirect(paths::Invitations(owner.slug()), message))
}

impl RevokeInvitationPage {
    const fn button_label(&self) -> &'static str {
        if self.is_open { "Revoke" } else { "Delete" }
    }
}

/// The pending invitation with this id. A page begins after its position, so the position is one above the invitation.
async fn find(owner: &Owner, id: InvitationId) -> Result<Invitation, Refusal> {
    let newer = Uuid::from_u128(id.as_uuid().as_u128().saturating_add(1));
    let page = PageRequest {
        size: PageSize::ONE,
        after: Some(InvitationId::from_uuid(newer)),
    };
    let found = owner.console.invitations.pending(&owner.authority, page).await?;
    let invitation = found.items.into_iter().find(|invitation| invitation.id == id);
    invitation.ok_or(Refusal::NotFound)
}

//! The form for an invitation, and the only page that ever shows the invitation's link: its answer.

use askama::Template;
use keyward_domain::administration::InvitationDraft;
use keyward_domain::administration::ports::AddInvitationError;
use keyward_domain::invitation::{Invitation, Invitee};
use keyward_domain::keys::IdempotencyKey;
use keyward_domain::membership::Role;
use poem::http::StatusCode;
use poem::{Response, handler};

use crate::answer::html;
use crate::flash::Message;
use crate::forms::{OwnerForm, Sent};
use crate::pages::field::Field;
use crate::pages::filters;
use crate::pages::settings::{Section, Settings};
use crate::paths;
use crate::reader::Owner;
use crate::refusal::Refusal;

#[derive(Template)]
#[template(path = "invite.html")]
struct InvitePage {
    settings: Settings,
    idempotency_key: IdempotencyKey,
    is_limit_reached: bool,
    invitee: Field,
    role: Role,
}

#[derive(Template)]
#[template(path = "issued_invitation.html")]
struct IssuedInvitationPage {
    settings: Settings,
    invitation: Invitation,
    link: String,
}

#[handler]
pub(crate) async fn show(owner: Owner) -> Result<Response, Refusal> {
    let idempotency_key = owner.console.new_idempotency_key();
    owner.page(&InvitePage::new(
        &owner,
        idempotency_key,
        Field::default(),
        Role::Member,
    ))
}

#[handler]
pub(crate) async fn submit(Sent(owner, form, source): OwnerForm) -> Result<Response, Refusal> {
    let idempotency_key = form.idempotency_key()?;
    let role = Role::from_word(form.required("role")?)
        .ok_or(Refusal::BadForm("A choice in the form is invalid."))?;
    let mut field = Field::with_value(form.required("invitee")?);
    let Some(invitee) = field.check("Name or email", Invitee::parse(&field.value)) else {
        let page = InvitePage::new(&owner, idempotency_key, field, role);
        return Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page)?);
    };
    let draft = InvitationDraft { invitee, role };
    let invited = owner
        .console
        .invitations
        .invite(&owner.authority, draft, Some(idempotency_key), source);
    let issued = match invited.await {
        Ok(issued) => issued,
        Err(AddInvitationError::AlreadyCreated(_)) => {
            let list = paths::Invitations(owner.slug());
            return Ok(owner.redirect(list, Message::InvitationAlreadyCreated));
        }
        Err(AddInvitationError::LimitReached) => {
            let mut page = InvitePage::new(&owner, idempotency_key, field, role);
            page.is_limit_reached = true;
            page.invitee.focused = false;
            return Ok(html(StatusCode::CONFLICT, &page)?);
        }
        Err(error) => return Err(error.into()),
    };
    owner.page(&IssuedInvitationPage {
        settings: Settings::new(&owner, Section::Members),
        link: paths::invitation_link(&owner.console.public_url, &issued.token),
        invitation: issued.invitation,
    })
}

impl InvitePage {
    fn new(owner: &Owner, idempotency_key: IdempotencyKey, invitee: Field, role: Role) -> Self {
        Self {
            settings: Settings::new(owner, Section::Members),
            idempotency_key,
            is_limit_reached: false,
            invitee: Field {
                focused: true,
                ..invitee
            },
            role,
        }
    }
}

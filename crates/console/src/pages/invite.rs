//! The form that invites somebody, and the only page that ever shows the invitation's link: its answer.

use std::sync::Arc;

use askama::Template;
use keyward_domain::administration::InvitationDraft;
use keyward_domain::administration::ports::AddInvitationError;
use keyward_domain::invitation::Invitee;
use keyward_domain::keys::FormNonce;
use keyward_domain::membership::Role;
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::Form;
use crate::pages::field::Field;
use crate::pages::invitations::after_repeated_form;
use crate::pages::moment::Moment;
use crate::pages::settings::{Section, Settings};
use crate::pages::{html, redirect};
use crate::refusal::Refusal;
use crate::request_source::Source;
use crate::viewer::{Insider, Owner};
use crate::{Console, links};

#[derive(Template)]
#[template(path = "invite.html")]
struct InvitePage {
    settings: Settings,
    list: String,
    nonce: FormNonce,
    invitee: Field,
    role: Role,
}

#[derive(Template)]
#[template(path = "issued_invitation.html")]
struct IssuedInvitationPage {
    settings: Settings,
    invitee: String,
    role: Role,
    link: String,
    expires: Moment,
    list: String,
}

#[handler]
pub(crate) async fn show(
    Data(console): Data<&Arc<Console>>,
    Owner { insider, .. }: Owner,
) -> Result<Response, Refusal> {
    let nonce = console.invitations.form_nonce();
    let invitee = Field {
        focused: true,
        ..Field::default()
    };
    html(
        StatusCode::OK,
        &InvitePage::new(&insider, nonce, invitee, Role::Member),
    )
}

#[handler]
pub(crate) async fn submit(
    Data(console): Data<&Arc<Console>>,
    Source(source): Source,
    Form(form): Form,
    // After the form, which may be long on its way: who sends it must still run the organization when it is here.
    Owner { insider, authority }: Owner,
) -> Result<Response, Refusal> {
    let nonce = FormNonce::parse(form.required("nonce")?)
        .map_err(|_| Refusal::BadForm("A hidden field of the form is invalid."))?;
    let role = Role::from_word(form.required("role")?)
        .ok_or(Refusal::BadForm("A choice in the form is invalid."))?;
    let mut field = Field::with_value(form.required("invitee")?);
    let invitee = Invitee::parse(&field.value);
    let Some(invitee) = field.check("This", invitee) else {
        field.focused = true;
        let page = InvitePage::new(&insider, nonce, field, role);
        return html(StatusCode::UNPROCESSABLE_ENTITY, &page);
    };
    let draft = InvitationDraft { invitee, role };
    let invited = console.invitations.invite(&authority, draft, Some(nonce), source);
    let issued = match invited.await {
        Ok(issued) => issued,
        Err(AddInvitationError::AlreadyCreated(_)) => {
            return Ok(redirect(&after_repeated_form(&insider.member.organization.slug)));
        }
        Err(AddInvitationError::NotAllowed) => return Err(Refusal::NotFound),
        Err(AddInvitationError::Storage(error)) => return Err(error.into()),
    };
    let page = IssuedInvitationPage {
        settings: Settings::new(&insider, Section::Members),
        invitee: issued.invitation.invitee.to_string(),
        role: issued.invitation.role,
        link: links::invitation_link(&console.public_url, &issued.token),
        expires: Moment(issued.invitation.expires_at),
        list: links::invitations(&insider.member.organization.slug),
    };
    html(StatusCode::OK, &page)
}

impl InvitePage {
    fn new(insider: &Insider, nonce: FormNonce, invitee: Field, role: Role) -> Self {
        Self {
            settings: Settings::new(insider, Section::Members),
            list: links::members(&insider.member.organization.slug),
            nonce,
            invitee,
            role,
        }
    }
}

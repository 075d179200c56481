//! Members → Invitations: the places that wait for somebody, and taking them back.

use std::sync::Arc;

use askama::Template;
use keyward_domain::administration::Invitations;
use keyward_domain::administration::ports::RevokeInvitationError;
use keyward_domain::id::InvitationId;
use keyward_domain::invitation::Invitation;
use keyward_domain::membership::Role;
use keyward_domain::organization::Slug;
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::{Form, Query};
use crate::pages::listing::Listing;
use crate::pages::members::tabs;
use crate::pages::moment::Moment;
use crate::pages::settings::{Section, SectionLink, Settings};
use crate::pages::{html, redirect};
use crate::path_id::PathId;
use crate::refusal::Refusal;
use crate::request_source::Source;
use crate::viewer::Owner;
use crate::{Console, links};

#[derive(Template)]
#[template(path = "invitations.html")]
struct InvitationsPage {
    settings: Settings,
    tabs: Vec<SectionLink>,
    invite: String,
    notice: Option<Notice>,
    rows: Vec<Row>,
    newest: Option<String>,
    older: Option<String>,
}

/// What became of the form that led here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Notice {
    /// It was sent before, and invited then.
    AlreadyCreated,
    TakenBack,
    /// What it was to take back had been accepted.
    Used,
}

/// An invitation in the table.
struct Row {
    invitee: String,
    role: Role,
    created: Moment,
    expires: Moment,
    is_open: bool,
    take_back: String,
}

#[handler]
pub(crate) async fn show(
    Data(console): Data<&Arc<Console>>,
    Owner { insider, authority }: Owner,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let listing = Listing::<InvitationId>::parse(&query)?;
    let found = console.invitations.pending(&authority, listing.request()).await?;
    let slug = &insider.member.organization.slug;
    let list = links::invitations(slug);
    let page = InvitationsPage {
        settings: Settings::new(&insider, Section::Members),
        tabs: tabs(slug, "Invitations"),
        invite: links::invite(slug),
        notice: query.optional("notice").and_then(Notice::from_word),
        rows: found
            .items
            .iter()
            .map(|one| row(&console.invitations, one, slug))
            .collect(),
        newest: listing.newest(&list, []),
        older: found.next.map(|next| listing.address(&list, Some(next), [])),
    };
    html(StatusCode::OK, &page)
}

#[handler]
pub(crate) async fn take_back(
    Data(console): Data<&Arc<Console>>,
    PathId(id): PathId<InvitationId>,
    Source(source): Source,
    Form(_): Form,
    // After the form, which may be long on its way: who sends it must still run the organization when it is here.
    Owner { insider, authority }: Owner,
) -> Result<Response, Refusal> {
    let notice = match console.invitations.revoke(&authority, id, source).await {
        Ok(()) => Notice::TakenBack,
        Err(RevokeInvitationError::Accepted) => Notice::Used,
        Err(RevokeInvitationError::NotAllowed | RevokeInvitationError::NotFound) => {
            return Err(Refusal::NotFound);
        }
        Err(RevokeInvitationError::Storage(error)) => return Err(error.into()),
    };
    Ok(redirect(&saying(notice, &insider.member.organization.slug)))
}

/// The list after the form that invites was sent again.
pub(super) fn after_repeated_form(organization: &Slug) -> String {
    saying(Notice::AlreadyCreated, organization)
}

fn saying(notice: Notice, organization: &Slug) -> String {
    let notice = Some(notice.as_str());
    links::with_query(&links::invitations(organization), [("notice", notice)])
}

fn row(invitations: &Invitations, invitation: &Invitation, slug: &Slug) -> Row {
    Row {
        invitee: invitation.invitee.to_string(),
        role: invitation.role,
        created: Moment(invitation.created_at),
        expires: Moment(invitation.expires_at),
        is_open: invitations.is_open(invitation),
        take_back: links::take_back_invitation(slug, invitation.id),
    }
}

impl Notice {
    const fn as_str(self) -> &'static str {
        match self {
            Self::AlreadyCreated => "already-created",
            Self::TakenBack => "taken-back",
            Self::Used => "used",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        [Self::AlreadyCreated, Self::TakenBack, Self::Used]
            .into_iter()
            .find(|notice| notice.as_str() == word)
    }
}

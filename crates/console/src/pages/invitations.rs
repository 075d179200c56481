//! Members → Invitations: the places that wait for somebody, and taking them back.

use std::collections::HashMap;
use std::sync::Arc;

use askama::Template;
use keyward_domain::administration::Invitations;
use keyward_domain::administration::ports::RevokeInvitationError;
use keyward_domain::audit::Subject;
use keyward_domain::id::InvitationId;
use keyward_domain::invitation::Invitation;
use keyward_domain::membership::Role;
use keyward_domain::organization::Slug;
use keyward_domain::page::{PageRequest, PageSize};
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::{Form, Query};
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

/// What became of an invitation that an owner wanted to take back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Notice {
    TakenBack,
    Used,
}

/// An invitation in the table.
struct Row {
    invitee: String,
    role: Role,
    created: Moment,
    /// The name of the owner who made it, or what else did.
    invited_by: String,
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
    let after = match query.optional("after") {
        None => None,
        Some(id) => Some(id.parse().map_err(|_| Refusal::BadAddress)?),
    };
    let request = PageRequest {
        size: PageSize::DEFAULT,
        after,
    };
    let found = console.invitations.pending(&authority, request).await?;
    let inviters: Vec<Subject> = found
        .items
        .iter()
        .filter_map(|invitation| invitation.invited_by.as_subject())
        .collect();
    let inviters = console.names.find(authority.organization_id(), &inviters).await?;
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
            .map(|one| row(&console.invitations, one, slug, &inviters))
            .collect(),
        newest: after.map(|_| list.clone()),
        older: found
            .next
            .map(|next| links::with_query(&list, [("after", Some(&*next.to_string()))])),
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
    Ok(redirect(&links::with_query(
        &links::invitations(&insider.member.organization.slug),
        [("notice", Some(notice.as_str()))],
    )))
}

fn row(
    invitations: &Invitations,
    invitation: &Invitation,
    slug: &Slug,
    inviters: &HashMap<Subject, String>,
) -> Row {
    let inviter = invitation.invited_by.as_subject();
    let inviter = inviter.and_then(|inviter| inviters.get(&inviter));
    Row {
        invited_by: inviter.map_or_else(|| "an administrator on the server".to_owned(), String::clone),
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
            Self::TakenBack => "taken-back",
            Self::Used => "used",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        [Self::TakenBack, Self::Used]
            .into_iter()
            .find(|notice| notice.as_str() == word)
    }
}

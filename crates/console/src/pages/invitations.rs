//! Members → Invitations: the places that wait for somebody, and taking them back.

use std::collections::HashMap;
use std::sync::Arc;

use askama::Template;
use chrono::{DateTime, Utc};
use keyward_domain::audit::Subject;
use keyward_domain::id::InvitationId;
use keyward_domain::invitation::Invitation;
use keyward_domain::membership::Role;
use keyward_domain::organization::Slug;
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::Query;
use crate::pages::html;
use crate::pages::listing::Listing;
use crate::pages::members::tabs;
use crate::pages::moment::Moment;
use crate::pages::settings::{Section, SectionLink, Settings};
use crate::refusal::Refusal;
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
    /// It had expired, and is off the list.
    Deleted,
    /// What it was to take back had been accepted.
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
    let listing = Listing::<InvitationId>::parse(&query)?;
    let found = console.invitations.pending(&authority, listing.request()).await?;
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
            .map(|one| row(one, slug, &inviters, insider.now))
            .collect(),
        newest: listing.newest(&list, []),
        older: found.next.map(|next| listing.address(&list, Some(next), [])),
    };
    html(StatusCode::OK, &page)
}

/// The list after an invitation was taken back, or, had it expired, deleted.
pub(super) fn after_taking_back(organization: &Slug, was_open: bool) -> String {
    let notice = if was_open {
        Notice::TakenBack
    } else {
        Notice::Deleted
    };
    saying(notice, organization)
}

/// The list after an invitation was to be taken back that somebody had used.
pub(super) fn after_being_late(organization: &Slug) -> String {
    saying(Notice::Used, organization)
}

/// The list after the form that invites was sent again.
pub(super) fn after_repeated_form(organization: &Slug) -> String {
    saying(Notice::AlreadyCreated, organization)
}

fn saying(notice: Notice, organization: &Slug) -> String {
    let notice = Some(notice.as_str());
    links::with_query(&links::invitations(organization), [("notice", notice)])
}

fn row(invitation: &Invitation, slug: &Slug, inviters: &HashMap<Subject, String>, now: DateTime<Utc>) -> Row {
    let inviter = invitation.invited_by.as_subject();
    let inviter = inviter.and_then(|inviter| inviters.get(&inviter));
    Row {
        invited_by: inviter.map_or_else(|| "an administrator on the server".to_owned(), String::clone),
        invitee: invitation.invitee.to_string(),
        role: invitation.role,
        created: Moment(invitation.created_at),
        expires: Moment(invitation.expires_at),
        is_open: invitation.is_open(now),
        take_back: links::take_back_invitation(slug, invitation.id),
    }
}

impl Notice {
    const fn as_str(self) -> &'static str {
        match self {
            Self::AlreadyCreated => "already-created",
            Self::TakenBack => "taken-back",
            Self::Deleted => "deleted",
            Self::Used => "used",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        [Self::AlreadyCreated, Self::TakenBack, Self::Deleted, Self::Used]
            .into_iter()
            .find(|notice| notice.as_str() == word)
    }
}

//! Removing a member, deliberately: what stops is told before.

use std::sync::Arc;

use askama::Template;
use futures_util::future::join;
use keyward_domain::administration::Authority;
use keyward_domain::administration::ports::EndMembershipError;
use keyward_domain::id::MembershipId;
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::Form;
use crate::pages::member::identify;
use crate::pages::members::after_removal;
use crate::pages::settings::{Section, Settings};
use crate::pages::what_stops::{WhatStops, if_counted};
use crate::pages::{html, redirect};
use crate::path_id::PathId;
use crate::refusal::Refusal;
use crate::request_source::Source;
use crate::viewer::{Insider, Owner};
use crate::{Console, links};

#[derive(Template)]
#[template(path = "remove_member.html")]
struct RemoveMemberPage {
    settings: Settings,
    /// The member's own page.
    member: String,
    name: String,
    username: String,
    stops: WhatStops,
    /// How many invitations others have made whose links go on working, if they could be counted: nobody knows who has
    /// them.
    open_invitations: Option<u64>,
    /// Where they can be taken back.
    invitations: String,
    confirmation_missing: bool,
    is_last_owner: bool,
}

#[handler]
pub(crate) async fn show(
    Data(console): Data<&Arc<Console>>,
    Owner { insider, authority }: Owner,
    PathId(id): PathId<MembershipId>,
) -> Result<Response, Refusal> {
    if id == insider.member.membership.id {
        return Ok(redirect(&links::leave(&insider.member.organization.slug)));
    }
    html(StatusCode::OK, &page(console, &insider, &authority, id).await?)
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
    let slug = &insider.member.organization.slug;
    if id == insider.member.membership.id {
        return Ok(redirect(&links::leave(slug)));
    }
    if form.optional("confirm") != Some("yes") {
        let page = RemoveMemberPage {
            confirmation_missing: true,
            ..page(console, &insider, &authority, id).await?
        };
        return html(StatusCode::UNPROCESSABLE_ENTITY, &page);
    }
    match console.members.remove(&authority, id, source).await {
        Ok(()) => Ok(redirect(&after_removal(slug, id))),
        Err(EndMembershipError::LastOwner) => {
            let page = RemoveMemberPage {
                is_last_owner: true,
                ..page(console, &insider, &authority, id).await?
            };
            html(StatusCode::CONFLICT, &page)
        }
        Err(EndMembershipError::NotAllowed | EndMembershipError::NotFound) => Err(Refusal::NotFound),
        Err(EndMembershipError::Storage(error)) => Err(error.into()),
    }
}

async fn page(
    console: &Console,
    insider: &Insider,
    authority: &Authority,
    id: MembershipId,
) -> Result<RemoveMemberPage, Refusal> {
    let member = identify(console, insider, authority, id).await?;
    let slug = &insider.member.organization.slug;
    let stops = WhatStops::on_removal(console, insider, authority, &member);
    let open_invitations = console
        .invitations
        .count_open_by_others(authority, member.user.id, insider.now);
    let (stops, open_invitations) = join(stops, open_invitations).await;
    Ok(RemoveMemberPage {
        settings: Settings::new(insider, Section::Members),
        member: links::member(slug, id),
        name: member.user.display_name.to_string(),
        username: member.user.username.to_string(),
        stops,
        open_invitations: if_counted(open_invitations),
        invitations: links::invitations(slug),
        confirmation_missing: false,
        is_last_owner: false,
    })
}

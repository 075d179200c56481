//! Leaving an organization, deliberately: what stops is told before.

use std::sync::Arc;

use askama::Template;
use futures_util::future::join;
use keyward_domain::administration::ports::EndMembershipError;
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::Form;
use crate::pages::home::after_leaving;
use crate::pages::settings::{Section, Settings};
use crate::pages::what_stops::{WhatStops, if_counted};
use crate::pages::{html, redirect};
use crate::refusal::Refusal;
use crate::request_source::Source;
use crate::viewer::Insider;
use crate::{Console, links};

#[derive(Template)]
#[template(path = "leave.html")]
struct LeavePage {
    settings: Settings,
    general: String,
    stops: WhatStops,
    confirmation_missing: bool,
    /// Nobody else runs the organization, so the viewer cannot leave.
    is_last_owner: bool,
    /// They tried to.
    was_refused: bool,
    /// Where somebody else can be made an owner.
    members: String,
}

#[handler]
pub(crate) async fn show(Data(console): Data<&Arc<Console>>, insider: Insider) -> Result<Response, Refusal> {
    html(StatusCode::OK, &page(console, &insider).await)
}

#[handler]
pub(crate) async fn submit(
    Data(console): Data<&Arc<Console>>,
    Source(source): Source,
    Form(form): Form,
    // After the form, which may be long on its way: who sends it must still be signed in when it is here.
    insider: Insider,
) -> Result<Response, Refusal> {
    if form.optional("confirm") != Some("yes") {
        let page = LeavePage {
            confirmation_missing: true,
            ..page(console, &insider).await
        };
        return html(StatusCode::UNPROCESSABLE_ENTITY, &page);
    }
    match console.members.leave(&insider.member, source).await {
        Ok(()) => Ok(redirect(&after_leaving(&insider.member.organization.slug))),
        Err(EndMembershipError::LastOwner) => {
            let page = LeavePage {
                is_last_owner: true,
                was_refused: true,
                ..page(console, &insider).await
            };
            html(StatusCode::CONFLICT, &page)
        }
        Err(EndMembershipError::NotAllowed | EndMembershipError::NotFound) => Err(Refusal::NotFound),
        Err(EndMembershipError::Storage(error)) => Err(error.into()),
    }
}

async fn page(console: &Console, insider: &Insider) -> LeavePage {
    let slug = &insider.member.organization.slug;
    let (is_last_owner, stops) = join(
        console
            .members
            .is_last_owner(&insider.member.membership, insider.now),
        WhatStops::on_leaving(console, insider),
    )
    .await;
    LeavePage {
        settings: Settings::new(insider, Section::General),
        general: links::general(slug),
        stops,
        confirmation_missing: false,
        // Who is will be told when they try to leave.
        is_last_owner: if_counted(is_last_owner).unwrap_or(false),
        was_refused: false,
        members: links::members(slug),
    }
}

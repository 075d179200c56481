//! Organization Settings → General: what the organization is called, who the viewer is there, and the way out.

use std::sync::Arc;

use askama::Template;
use keyward_domain::membership::Role;
use keyward_domain::organization::Slug;
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::Query;
use crate::pages::html;
use crate::pages::moment::Moment;
use crate::pages::settings::{Section, Settings};
use crate::refusal::Refusal;
use crate::viewer::Insider;
use crate::{Console, links};

#[derive(Template)]
#[template(path = "general.html")]
struct GeneralPage {
    settings: Settings,
    slug: String,
    created: Moment,
    role: &'static str,
    joined: Moment,
    /// Nobody else runs the organization, so the viewer cannot leave.
    is_last_owner: bool,
    /// Where somebody else can be made an owner.
    members: String,
    leave: String,
    /// They have just given up being an owner.
    has_stepped_down: bool,
}

/// The page for somebody who has just given up being an owner, saying so.
pub(super) fn after_stepping_down(organization: &Slug) -> String {
    links::with_query(&links::general(organization), [("role", Some("changed"))])
}

#[handler]
pub(crate) async fn show(
    Data(console): Data<&Arc<Console>>,
    insider: Insider,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let member = &insider.member;
    let page = GeneralPage {
        settings: Settings::new(&insider, Section::General),
        slug: member.organization.slug.to_string(),
        created: Moment(member.organization.created_at),
        role: member.membership.role.as_str(),
        joined: Moment(member.membership.joined_at),
        is_last_owner: console.members.is_last_owner(&member.membership).await?,
        members: links::members(&member.organization.slug),
        // The page tells the role that they have, so no link can claim another.
        has_stepped_down: query.optional("role") == Some("changed") && member.membership.role == Role::Member,
        leave: links::leave(&member.organization.slug),
    };
    html(StatusCode::OK, &page)
}

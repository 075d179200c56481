//! Organization Settings → General: what the organization is called, who the viewer is there, and the way out.

use std::sync::Arc;

use askama::Template;
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

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
}

#[handler]
pub(crate) async fn show(Data(console): Data<&Arc<Console>>, insider: Insider) -> Result<Response, Refusal> {
    let member = &insider.member;
    let page = GeneralPage {
        settings: Settings::new(&insider, Section::General),
        slug: member.organization.slug.to_string(),
        created: Moment(member.organization.created_at),
        role: member.membership.role.as_str(),
        joined: Moment(member.membership.joined_at),
        is_last_owner: console.members.is_last_owner(&member.membership).await?,
        members: links::members(&member.organization.slug),
        leave: links::leave(&member.organization.slug),
    };
    html(StatusCode::OK, &page)
}

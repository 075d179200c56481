//! Organization Settings → General: what the organization is called, who the viewer is there, and the way out.

use askama::Template;
use poem::http::StatusCode;
use poem::{Response, handler};

use crate::links;
use crate::pages::html;
use crate::pages::moment::Moment;
use crate::pages::settings::{Section, Settings};
use crate::refusal::Refusal;
use crate::viewer::Insider;

#[derive(Template)]
#[template(path = "general.html")]
struct GeneralPage {
    settings: Settings,
    slug: String,
    created: Moment,
    role: &'static str,
    joined: Moment,
    leave: String,
}

#[handler]
pub(crate) async fn show(insider: Insider) -> Result<Response, Refusal> {
    let member = &insider.member;
    let page = GeneralPage {
        settings: Settings::new(&insider, Section::General),
        slug: member.organization.slug.to_string(),
        created: Moment(member.organization.created_at),
        role: member.membership.role.as_str(),
        joined: Moment(member.membership.joined_at),
        leave: links::leave(&member.organization.slug),
    };
    html(StatusCode::OK, &page)
}

//! The projects of a member who is no owner, for reading.

use askama::Template;
use keyward_domain::id::ProjectId;
use keyward_domain::public_url::PublicUrl;
use poem::Response;
use poem::http::StatusCode;

use crate::forms::Fields;
use crate::pages::html;
use crate::pages::listing::{Items, Listing};
use crate::pages::moment::Moment;
use crate::pages::settings::{Section, Settings};
use crate::refusal::Refusal;
use crate::viewer::Insider;
use crate::{Console, links};

#[derive(Template)]
#[template(path = "own_projects.html")]
struct OwnProjectsPage<'a> {
    settings: Settings,
    public_url: &'a PublicUrl,
    caption: String,
    rows: Vec<Row>,
    newest: Option<String>,
    older: Option<String>,
}

/// A project in the table.
struct Row {
    name: String,
    id: String,
    created: Moment,
}

/// What the member's keys reach at this moment.
pub(super) async fn own_projects(
    console: &Console,
    insider: &Insider,
    query: &Fields,
) -> Result<Response, Refusal> {
    let listing = Listing::<ProjectId>::parse(query)?;
    let consumer = insider.member.as_holder().consumer().id;
    let found = console
        .reachable_projects
        .list(consumer, listing.request(), insider.now)
        .await?;
    let list = links::projects(&insider.member.organization.slug);
    let page = OwnProjectsPage {
        settings: Settings::new(insider, Section::Projects),
        public_url: &console.public_url,
        caption: listing.caption(found.items.len(), found.next.is_some(), PROJECTS),
        rows: found
            .items
            .iter()
            .map(|project| Row {
                name: project.name.to_string(),
                id: project.id.to_string(),
                created: Moment(project.created_at),
            })
            .collect(),
        newest: listing.newest(&list, []),
        older: found.next.map(|next| listing.address(&list, Some(next), [])),
    };
    html(StatusCode::OK, &page)
}

/// How the table's caption calls them.
const PROJECTS: Items = Items {
    one: "project",
    several: "projects",
    later: "older",
};

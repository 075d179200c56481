//! The projects of a member who is no owner, for reading.

use askama::Template;
use keyward_domain::page::{PageRequest, PageSize};
use poem::Response;
use poem::http::StatusCode;

use crate::forms::Fields;
use crate::pages::html;
use crate::pages::moment::Moment;
use crate::pages::settings::{Section, Settings};
use crate::public_url::PublicUrl;
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
    let after = match query.optional("after") {
        None => None,
        Some(id) => Some(id.parse().map_err(|_| Refusal::BadAddress)?),
    };
    let request = PageRequest {
        size: PageSize::DEFAULT,
        after,
    };
    let consumer = insider.member.as_holder().consumer().id;
    let found = console.reachable_projects.list(consumer, request).await?;
    let list = links::projects(&insider.member.organization.slug);
    let page = OwnProjectsPage {
        settings: Settings::new(insider, Section::Projects),
        public_url: &console.public_url,
        caption: caption(found.items.len(), after.is_some(), found.next.is_some()),
        rows: found
            .items
            .iter()
            .map(|project| Row {
                name: project.name.to_string(),
                id: project.id.to_string(),
                created: Moment(project.created_at),
            })
            .collect(),
        newest: after.map(|_| list.clone()),
        older: found
            .next
            .map(|next| links::with_query(&list, [("after", Some(&*next.to_string()))])),
    };
    html(StatusCode::OK, &page)
}

/// What the table holds: "3 projects".
fn caption(count: usize, is_older: bool, has_older: bool) -> String {
    let projects = if count == 1 { "project" } else { "projects" };
    match (is_older, has_older) {
        (false, false) => format!("{count} {projects}"),
        (false, true) => format!("The {count} newest {projects}"),
        (true, _) => format!("{count} older {projects}"),
    }
}

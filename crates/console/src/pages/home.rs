//! `/`: leads on to where the visitor can do something.

use std::sync::Arc;

use askama::Template;
use keyward_domain::organization::Slug;
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::Query;
use crate::links::Link;
use crate::pages::{html, redirect};
use crate::refusal::Refusal;
use crate::viewer::{Insider, Visitor};
use crate::{Console, links};

/// Nobody has completed the first run.
#[derive(Template)]
#[template(path = "not_set_up.html")]
struct NotSetUp<'a> {
    setup_command: &'a str,
}

/// The user belongs to no organization (any more).
#[derive(Template)]
#[template(path = "no_organization.html")]
struct NoOrganization {
    username: String,
}

/// The user has just left an organization.
#[derive(Template)]
#[template(path = "left.html")]
struct Left {
    organizations: Vec<Link>,
}

/// Where the way leads on after leaving an organization.
pub(super) fn after_leaving(organization: &Slug) -> String {
    links::with_query(links::HOME, [("left", Some(organization.as_str()))])
}

#[handler]
pub(crate) async fn show(
    Data(console): Data<&Arc<Console>>,
    Visitor(visitor): Visitor,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let Some(viewer) = visitor else {
        return if console.setup.is_complete().await? {
            Ok(redirect(links::SIGN_IN))
        } else {
            {
                let setup_command = &console.setup_command;
                html(StatusCode::OK, &NotSetUp { setup_command })
            }
        };
    };
    let organizations = console
        .memberships
        .organizations_of(viewer.user.id, console.now())
        .await?;
    // It is looked up, so that no link can claim it of an organization they belong to.
    let left = query.optional("left").and_then(|slug| Slug::parse(slug).ok());
    if left.is_some_and(|left| organizations.iter().all(|organization| organization.slug != left)) {
        let page = Left {
            organizations: organizations.iter().map(Link::to_keys_in).collect(),
        };
        return html(StatusCode::OK, &page);
    }
    match organizations.first() {
        Some(organization) => Ok(redirect(&links::api_keys(&organization.slug))),
        None => html(
            StatusCode::OK,
            &NoOrganization {
                username: viewer.user.username.to_string(),
            },
        ),
    }
}

/// `/organizations/{slug}`, with or without `/settings`: what somebody types who shortens an address.
#[handler]
pub(crate) async fn lead_to_keys(insider: Insider) -> Response {
    redirect(&links::api_keys(&insider.member.organization.slug))
}

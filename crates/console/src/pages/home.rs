//! `/`: leads on to where the visitor can do something.

use askama::Template;
use keyward_domain::organization::Organization;
use keyward_domain::user::User;
use poem::{Response, handler};

use crate::answer::redirect;
use crate::flash::Audience;
use crate::pages::notice::Notice;
use crate::paths;
use crate::reader::{Member, Visitor};
use crate::refusal::Refusal;

/// The first-run setup was not completed.
#[derive(Template)]
#[template(path = "not_set_up.html")]
struct NotSetUp<'a> {
    setup_command: &'a str,
}

/// The user belongs to no organization (any more).
#[derive(Template)]
#[template(path = "no_organization.html")]
struct NoOrganization<'a> {
    user: &'a User,
}

/// The user has just left an organization.
#[derive(Template)]
#[template(path = "left.html")]
struct Left<'a> {
    user: &'a User,
    organizations: Vec<Organization>,
}

#[handler]
pub(crate) async fn show(visitor: Visitor) -> Result<Response, Refusal> {
    let Some(viewer) = &visitor.signed_in else {
        return if visitor.console.setup.is_complete().await? {
            Ok(redirect(paths::SignIn))
        } else {
            visitor.page(&NotSetUp {
                setup_command: &visitor.console.setup_command,
            })
        };
    };
    let user = &viewer.user;
    let organizations = visitor
        .console
        .memberships
        .organizations_of(user.id, visitor.now)
        .await?;
    match organizations.first() {
        _ if Notice::at(Audience::Home, &visitor).is_some() => visitor.page(&Left { user, organizations }),
        Some(organization) => Ok(redirect(paths::ApiKeys(&organization.slug))),
        None => visitor.page(&NoOrganization { user }),
    }
}

/// `/organizations/{slug}`, with or without `/settings`, for people who shorten a URL.
#[handler]
pub(crate) async fn lead_to_keys(member: Member) -> Response {
    redirect(paths::ApiKeys(member.slug()))
}

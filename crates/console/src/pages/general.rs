//! Organization Settings → General: what the organization is called and has chosen for new keys, who the viewer is there,
//! and the way out.

use std::sync::Arc;

use askama::Template;
use keyward_domain::administration::ports::ChangeOrganizationError;
use keyward_domain::membership::Role;
use keyward_domain::organization::Slug;
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::{Form, Query};
use crate::pages::key_right;
use crate::pages::moment::Moment;
use crate::pages::settings::{Section, Settings};
use crate::pages::{html, redirect};
use crate::refusal::Refusal;
use crate::request_source::Source;
use crate::viewer::{Insider, Owner};
use crate::{Console, links};

#[derive(Template)]
#[template(path = "general.html")]
struct GeneralPage {
    settings: Settings,
    slug: String,
    created: Moment,
    role: &'static str,
    joined: Moment,
    /// What holds for new keys if nobody asks for either.
    new_keys_manage_keys: bool,
    /// Where an owner chooses that.
    choose_for_new_keys: Option<String>,
    /// They have just chosen it.
    has_chosen: bool,
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
    let is_owner = insider.as_authority().is_some();
    let page = GeneralPage {
        new_keys_manage_keys: member.organization.new_keys_manage_keys,
        choose_for_new_keys: is_owner.then(|| links::choose_for_new_keys(&member.organization.slug)),
        // The page tells what is chosen, so no link can claim something else.
        has_chosen: query.optional("new-keys") == Some("chosen") && is_owner,
        settings: Settings::new(&insider, Section::General),
        slug: member.organization.slug.to_string(),
        created: Moment(member.organization.created_at),
        role: member.membership.role.as_str(),
        joined: Moment(member.membership.joined_at),
        is_last_owner: console
            .members
            .is_last_owner(&member.membership, insider.now)
            .await?,
        members: links::members(&member.organization.slug),
        // The page tells the role that they have, so no link can claim another.
        has_stepped_down: query.optional("role") == Some("changed") && member.membership.role == Role::Member,
        leave: links::leave(&member.organization.slug),
    };
    html(StatusCode::OK, &page)
}

#[handler]
pub(crate) async fn choose_for_new_keys(
    Data(console): Data<&Arc<Console>>,
    Source(source): Source,
    Form(form): Form,
    // After the form, which may be long on its way: who sends it must still run the organization when it is here.
    Owner { insider, authority }: Owner,
) -> Result<Response, Refusal> {
    let chosen = key_right::chosen_in(&form)?.ok_or(Refusal::BadForm("A field of the form is missing."))?;
    let general = links::general(&insider.member.organization.slug);
    match console
        .organizations
        .choose_for_new_keys(&authority, chosen, source)
        .await
    {
        Ok(()) => Ok(redirect(&links::with_query(
            &general,
            [("new-keys", Some("chosen"))],
        ))),
        Err(ChangeOrganizationError::NotAllowed) => Err(Refusal::NotFound),
        Err(ChangeOrganizationError::Storage(error)) => Err(error.into()),
    }
}

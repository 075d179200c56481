//! Organization Settings → Members: who belongs, as owners see it.

use std::sync::Arc;

use askama::Template;
use keyward_domain::administration::ports::{MemberFilter, MemberOverview};
use keyward_domain::audit::Subject;
use keyward_domain::id::MembershipId;
use keyward_domain::membership::Role;
use keyward_domain::organization::Slug;
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::Query;
use crate::pages::html;
use crate::pages::listing::{Items, Listing};
use crate::pages::moment::Moment;
use crate::pages::settings::{Section, SectionLink, Settings};
use crate::pages::tokenless_address::TokenlessAddress;
use crate::refusal::Refusal;
use crate::viewer::Owner;
use crate::{Console, links};

#[derive(Template)]
#[template(path = "members.html")]
struct MembersPage<'a> {
    settings: Settings,
    tabs: Vec<SectionLink>,
    list: String,
    invite: String,
    /// Who was removed just now.
    removed: Option<String>,
    search: &'a str,
    caption: String,
    rows: Vec<Row>,
    newest: Option<String>,
    older: Option<String>,
}

/// A member in the table.
struct Row {
    name: String,
    username: String,
    is_viewer: bool,
    role: Role,
    joined: Moment,
    valid_keys: u32,
    projects: u32,
    address: String,
}

/// How the table's caption calls them.
pub(super) const MEMBERS: Items = Items {
    one: "member",
    several: "members",
    later: "more",
};

/// The list after somebody was removed, saying so.
pub(super) fn after_removal(organization: &Slug, removed: MembershipId) -> String {
    links::with_query(
        &links::members(organization),
        [("removed", Some(&*removed.to_string()))],
    )
}

/// What can be seen about who belongs and who may.
pub(super) fn tabs(organization: &Slug, current: &str) -> Vec<SectionLink> {
    [
        ("Members", links::members(organization)),
        ("Invitations", links::invitations(organization)),
    ]
    .map(|(label, address)| SectionLink {
        label,
        address,
        is_current: label == current,
    })
    .into()
}

#[handler]
pub(crate) async fn show(
    // First, since whoever has to sign in again goes on with the address.
    TokenlessAddress: TokenlessAddress,
    Data(console): Data<&Arc<Console>>,
    Owner { insider, authority }: Owner,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let listing = Listing::<MembershipId>::parse(&query)?;
    let filter = MemberFilter::new(Some(listing.search));
    let found = console
        .members
        .list(&authority, filter, listing.request(), insider.now)
        .await?;
    // It is looked up, so that no link can claim it of somebody who is still here.
    let removed = match query.optional("removed").and_then(|id| id.parse().ok()) {
        Some(id)
            if console
                .members
                .identify(&authority, id, insider.now)
                .await?
                .is_none() =>
        {
            let subject = Subject::Membership(id);
            let organization = authority.organization_id();
            console
                .names
                .find(organization, &[subject])
                .await?
                .remove(&subject)
        }
        Some(_) | None => None,
    };
    let slug = &insider.member.organization.slug;
    let list = links::members(slug);
    let page = MembersPage {
        settings: Settings::new(&insider, Section::Members),
        tabs: tabs(slug, "Members"),
        invite: links::invite(slug),
        removed,
        search: listing.search,
        caption: listing.caption(found.items.len(), found.next.is_some(), MEMBERS),
        newest: listing.newest(&list, []),
        older: found.next.map(|next| listing.address(&list, Some(next), [])),
        rows: found
            .items
            .iter()
            .map(|member| row(member, slug, insider.member.membership.id))
            .collect(),
        list,
    };
    html(StatusCode::OK, &page)
}

fn row(member: &MemberOverview, slug: &Slug, viewer: MembershipId) -> Row {
    Row {
        name: member.user.display_name.to_string(),
        username: member.user.username.to_string(),
        is_viewer: member.membership.id == viewer,
        role: member.membership.role,
        joined: Moment(member.membership.joined_at),
        valid_keys: member.valid_keys,
        projects: member.projects,
        address: links::member(slug, member.membership.id),
    }
}

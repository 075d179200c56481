//! Organization Settings → Members: who belongs, as owners see it.

use std::sync::Arc;

use askama::Template;
use keyward_domain::administration::ports::{MemberFilter, MemberOverview};
use keyward_domain::id::MembershipId;
use keyward_domain::membership::Role;
use keyward_domain::organization::Slug;
use keyward_domain::page::{PageRequest, PageSize};
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::{Fields, Query};
use crate::pages::html;
use crate::pages::moment::Moment;
use crate::pages::settings::{Section, SectionLink, Settings};
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
    has_removed: bool,
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

/// Which part of the members the list shows.
struct Listing<'a> {
    search: &'a str,
    /// The last member of the page before.
    after: Option<MembershipId>,
}

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
    Data(console): Data<&Arc<Console>>,
    Owner { insider, authority }: Owner,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let listing = Listing::parse(&query)?;
    let request = PageRequest {
        size: PageSize::DEFAULT,
        after: listing.after,
    };
    let filter = MemberFilter::new(Some(listing.search));
    let found = console.members.list(&authority, filter, request).await?;
    // It is looked up, so that no link can claim it of somebody who is still here.
    let has_removed = match query.optional("removed").and_then(|id| id.parse().ok()) {
        Some(id) => console.members.find(&authority, id).await?.is_none(),
        None => false,
    };
    let slug = &insider.member.organization.slug;
    let page = MembersPage {
        settings: Settings::new(&insider, Section::Members),
        tabs: tabs(slug, "Members"),
        list: links::members(slug),
        invite: links::invite(slug),
        has_removed,
        search: listing.search,
        caption: listing.caption(found.items.len(), found.next.is_some()),
        newest: listing.after.map(|_| listing.address(slug, None)),
        older: found.next.map(|next| listing.address(slug, Some(next))),
        rows: found
            .items
            .iter()
            .map(|member| row(member, slug, insider.member.membership.id))
            .collect(),
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

impl<'a> Listing<'a> {
    fn parse(query: &'a Fields) -> Result<Self, Refusal> {
        let after = match query.optional("after") {
            None => None,
            Some(id) => Some(id.parse().map_err(|_| Refusal::BadAddress)?),
        };
        Ok(Self {
            search: query.optional("search").unwrap_or_default().trim(),
            after,
        })
    }

    /// The address of this list, from who joined last or from the one after.
    fn address(&self, slug: &Slug, after: Option<MembershipId>) -> String {
        let after = after.map(|id| id.to_string());
        links::with_query(
            &links::members(slug),
            [
                ("search", (!self.search.is_empty()).then_some(self.search)),
                ("after", after.as_deref()),
            ],
        )
    }

    /// What the table holds: "3 members". The words of a search follow.
    fn caption(&self, count: usize, has_older: bool) -> String {
        let members = if count == 1 { "member" } else { "members" };
        match (self.after, has_older) {
            (None, false) => format!("{count} {members}"),
            (None, true) => format!("The {count} newest {members}"),
            (Some(_), _) => format!("{count} more {members}"),
        }
    }
}

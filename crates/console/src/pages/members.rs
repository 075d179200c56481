//! Organization Settings → Members: the list of members, for owners.

use askama::Template;
use chrono::{DateTime, Utc};
use keyward_domain::administration::ports::{MemberFilter, MemberOverview};
use keyward_domain::id::MembershipId;
use keyward_domain::organization::Slug;
use keyward_domain::page::Page;
use poem::{Response, handler};

use crate::forms::Query;
use crate::pages::filters;
use crate::pages::list::{Items, List};
use crate::pages::notice::Notice;
use crate::pages::settings::{Section, SectionLink, Settings};
use crate::paths;
use crate::reader::Owner;
use crate::refusal::Refusal;

#[derive(Template)]
#[template(path = "members.html")]
struct MembersPage {
    settings: Settings,
    notice: Option<Notice>,
    tabs: Vec<SectionLink>,
    viewer: MembershipId,
    now: DateTime<Utc>,
    list: List<MembershipId>,
    found: Page<MemberOverview, MembershipId>,
}

/// The words for the table's caption.
pub(super) const MEMBERS: Items = Items {
    one: "member",
    several: "members",
    later: "more",
};

/// The tabs of members and invitations.
pub(super) fn tabs(organization: &Slug, current: &str) -> Vec<SectionLink> {
    [
        ("Members", paths::Members(organization).to_string()),
        ("Invitations", paths::Invitations(organization).to_string()),
    ]
    .map(|(label, url)| SectionLink {
        label,
        url,
        is_current: label == current,
    })
    .into()
}

#[handler]
pub(crate) async fn show(owner: Owner, Query(query): Query) -> Result<Response, Refusal> {
    let list = List::read(paths::Members(owner.slug()), &query)?;
    let filter = MemberFilter::new(Some(&list.search));
    let found = owner
        .console
        .members
        .list(&owner.authority, filter, list.request(), owner.now);
    owner.page(&MembersPage {
        settings: Settings::new(&owner, Section::Members),
        notice: Notice::for_owner(&owner).await?,
        tabs: tabs(owner.slug(), "Members"),
        viewer: owner.member.membership.id,
        now: owner.now,
        found: found.await?,
        list,
    })
}

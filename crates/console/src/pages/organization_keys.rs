//! Organization Settings → API Keys → All keys: those of all members, for owners.

use std::sync::Arc;

use askama::Template;
use keyward_domain::administration::Authority;
use keyward_domain::administration::ports::{HeldKey, OrganizationKeyFilter};
use keyward_domain::id::{ApiKeyId, ConsumerId};
use keyward_domain::organization::Slug;
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::StatusFilter;
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::{Fields, Query};
use crate::pages::held_key::KeyRow;
use crate::pages::html;
use crate::pages::listing::{ListedStatus, StatusListing};
use crate::pages::settings::{Section, SectionLink, Settings};
use crate::refusal::Refusal;
use crate::viewer::Insider;
use crate::{Console, links};

/// For how many days keys may have been unused, to choose from.
const UNUSED_DAYS: [u16; 4] = [30, 90, 180, 365];

#[derive(Template)]
#[template(path = "organization_keys.html")]
struct OrganizationKeysPage<'a> {
    settings: Settings,
    views: Vec<SectionLink>,
    list: String,
    revoke: String,
    notice: Option<Notice>,
    /// The organization has never had a key.
    is_empty: bool,
    search: &'a str,
    status: StatusFilter,
    statuses: Vec<SectionLink>,
    unused_choices: Vec<UnusedChoice>,
    /// The only person whose keys are shown.
    holder: Option<Holder>,
    rows: Vec<KeyRow>,
    newest: Option<String>,
    older: Option<String>,
}

/// What has just happened to keys of this list.
enum Notice {
    /// The first of them is looked up, so that no link can claim it.
    Revoked { name: String, others: u32 },
    /// They were revoked before.
    Nothing,
}

struct UnusedChoice {
    days: u16,
    is_current: bool,
}

struct Holder {
    id: String,
    name: String,
    everybody: String,
}

/// Which keys the list shows.
#[derive(Clone, Copy)]
struct Listing<'a> {
    listed: StatusListing<'a, ApiKeyId, StatusFilter>,
    unused: Option<u16>,
    holder: Option<ConsumerId>,
}

/// The way between one's own keys and those of all, for owners.
pub(super) fn views(insider: &Insider, shows_all: bool) -> Vec<SectionLink> {
    let slug = &insider.member.organization.slug;
    if insider.member.as_authority().is_none() {
        return Vec::new();
    }
    vec![
        SectionLink {
            label: "Your keys",
            address: links::api_keys(slug),
            is_current: !shows_all,
        },
        SectionLink {
            label: "All keys",
            address: links::organization_keys(slug),
            is_current: shows_all,
        },
    ]
}

/// The list as it is after keys were revoked, saying so.
pub(super) fn after_revocation(organization: &Slug, revoked: &[ApiKeyId]) -> String {
    let first = revoked.first().map(ToString::to_string);
    let others = revoked.len().saturating_sub(1);
    let others = (others > 0).then(|| others.to_string());
    links::with_query(
        &links::organization_keys(organization),
        [
            ("status", Some(StatusFilter::All.as_str())),
            ("revoked", Some(first.as_deref().unwrap_or("none"))),
            ("others", others.as_deref()),
        ],
    )
}

#[handler]
pub(crate) async fn show(
    Data(console): Data<&Arc<Console>>,
    insider: Insider,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let authority = insider.member.as_authority().ok_or(Refusal::NotFound)?;
    let listing = Listing::parse(&query)?;
    let slug = &insider.member.organization.slug;
    let part = listing.listed.part;
    let filter = listing.filter(console);
    let found = console
        .organization_keys
        .list(&authority, filter, part.request())
        .await?;
    let list = links::organization_keys(slug);
    let is_empty = found.items.is_empty() && has_no_key(console, &authority).await?;
    let page = OrganizationKeysPage {
        settings: Settings::new(&insider, Section::ApiKeys),
        views: views(&insider, true),
        revoke: links::revoke_organization_keys(slug),
        notice: notice(console, &authority, &query).await?,
        is_empty,
        search: part.search,
        status: listing.listed.status,
        statuses: listing.tabs(&list),
        unused_choices: listing.unused_choices(),
        holder: holder(console, &authority, &listing, &list).await?,
        rows: found.items.iter().map(|key| KeyRow::new(key, slug)).collect(),
        newest: part.after.map(|_| listing.address(&list, None)),
        older: found.next.map(|next| listing.address(&list, Some(next))),
        list,
    };
    html(StatusCode::OK, &page)
}

impl<'a> Listing<'a> {
    fn parse(query: &'a Fields) -> Result<Self, Refusal> {
        let unused = match query.optional("unused").unwrap_or_default() {
            "" => None,
            days => Some(days.parse().map_err(|_| Refusal::BadAddress)?),
        };
        let holder = query.optional("holder").map(str::parse).transpose();
        Ok(Self {
            listed: StatusListing::parse(query)?,
            unused,
            holder: holder.map_err(|_| Refusal::BadAddress)?,
        })
    }

    fn filter(&self, console: &Console) -> OrganizationKeyFilter {
        let mut filter = OrganizationKeyFilter::new(self.listed.status, Some(self.listed.part.search));
        if let Some(holder) = self.holder {
            filter = filter.of_consumer(holder);
        }
        if let Some(days) = self.unused {
            filter = filter.unused_since(console.organization_keys.days_ago(days));
        }
        filter
    }

    fn address(&self, list: &str, after: Option<ApiKeyId>) -> String {
        let unused = self.unused.map(|days| days.to_string());
        let holder = self.holder.map(|holder| holder.to_string());
        let more = [
            self.listed.field(),
            ("unused", unused.as_deref()),
            ("holder", holder.as_deref()),
        ];
        self.listed.part.address(list, after, more)
    }

    /// What is usual, and what the address says.
    fn unused_choices(&self) -> Vec<UnusedChoice> {
        let unusual = self.unused.filter(|days| !UNUSED_DAYS.contains(days));
        let choices = UNUSED_DAYS.into_iter().chain(unusual);
        choices
            .map(|days| UnusedChoice {
                days,
                is_current: self.unused == Some(days),
            })
            .collect()
    }

    fn tabs(&self, list: &str) -> Vec<SectionLink> {
        let tabs = StatusFilter::TABS.iter().map(|&(status, label)| {
            let listed = StatusListing {
                status,
                ..self.listed
            };
            SectionLink {
                label,
                address: Listing { listed, ..*self }.address(list, None),
                is_current: status == self.listed.status,
            }
        });
        tabs.collect()
    }
}

async fn first_of(
    console: &Console,
    authority: &Authority,
    filter: OrganizationKeyFilter,
) -> Result<Option<HeldKey>, Refusal> {
    let request = PageRequest {
        size: PageSize::ONE,
        after: None,
    };
    let page = console.organization_keys.list(authority, filter, request).await?;
    Ok(page.items.into_iter().next())
}

async fn has_no_key(console: &Console, authority: &Authority) -> Result<bool, Refusal> {
    let any = OrganizationKeyFilter::new(StatusFilter::All, None);
    Ok(first_of(console, authority, any).await?.is_none())
}

/// Whose keys are shown, if only one person's are. Somebody without keys has no name here.
async fn holder(
    console: &Console,
    authority: &Authority,
    listing: &Listing<'_>,
    list: &str,
) -> Result<Option<Holder>, Refusal> {
    let Some(id) = listing.holder else {
        return Ok(None);
    };
    let theirs = OrganizationKeyFilter::new(StatusFilter::All, None).of_consumer(id);
    let key = first_of(console, authority, theirs).await?;
    Ok(key.map(|key| Holder {
        id: id.to_string(),
        name: key.holder.user.display_name.to_string(),
        everybody: Listing {
            holder: None,
            ..*listing
        }
        .address(list, None),
    }))
}

async fn notice(console: &Console, authority: &Authority, query: &Fields) -> Result<Option<Notice>, Refusal> {
    let Some(id) = query.optional("revoked") else {
        return Ok(None);
    };
    let Ok(id) = id.parse::<ApiKeyId>() else {
        return Ok(Some(Notice::Nothing));
    };
    let family = console.organization_keys.family(authority, id).await?;
    let key = family.into_iter().find(|key| key.id == id && !key.is_valid());
    let others = query.optional("others").and_then(|others| others.parse().ok());
    Ok(key.map(|key| Notice::Revoked {
        name: key.name.to_string(),
        others: others.unwrap_or(0),
    }))
}

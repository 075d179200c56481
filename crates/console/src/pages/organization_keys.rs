//! Organization Settings → API Keys → All keys: those of all members, for owners.

use std::sync::Arc;

use askama::Template;
use chrono::{DateTime, TimeDelta, Utc};
use keyward_domain::administration::ports::{HeldKey, OrganizationKeyFilter};
use keyward_domain::administration::{Authority, RevokedKeys};
use keyward_domain::id::{ApiKeyId, ConsumerId};
use keyward_domain::organization::Slug;
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::StatusFilter;
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::{Fields, Query};
use crate::pages::held_key::{KeyRow, others_in};
use crate::pages::html;
use crate::pages::key_standing::Standing;
use crate::pages::listing::{ListedStatus, StatusListing};
use crate::pages::settings::{Section, SectionLink, Settings};
use crate::pages::tokenless_address::TokenlessAddress;
use crate::refusal::Refusal;
use crate::viewer::{Insider, Owner};
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
    status: Standing,
    statuses: Vec<SectionLink>,
    unused_choices: Vec<UnusedChoice>,
    /// The only person whose keys are shown.
    holder: Option<Holder>,
    /// Whether anything but a status was asked for.
    is_filtered: bool,
    /// All keys of the status.
    unfiltered: String,
    /// The same search among keys of every status.
    everywhere: String,
    /// What a list without keys has none of.
    none: &'static str,
    caption: String,
    rows: Vec<KeyRow>,
    /// Whether any of them can still be revoked.
    has_valid: bool,
    /// What the form repeats of the page's address, so that it can lead back.
    repeated: Vec<(&'static str, String)>,
    newest: Option<String>,
    older: Option<String>,
}

/// What has just happened to keys of this list.
enum Notice {
    /// The first of them is looked up, so that no link can claim it.
    Revoked { name: String, others: u32 },
    /// They were revoked before.
    Nothing,
    /// None was ticked.
    NothingSelected,
    /// The search was for a whole token, and is now for its last four characters.
    SearchedForToken,
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
    listed: StatusListing<'a, ApiKeyId, Standing>,
    unused: Option<u16>,
    holder: Option<ConsumerId>,
}

/// The way between one's own keys and those of all, for owners.
pub(super) fn views(insider: &Insider, shows_all: bool) -> Vec<SectionLink> {
    let slug = &insider.member.organization.slug;
    if insider.as_authority().is_none() {
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

/// How an address says that nothing was ticked.
const NOTHING_SELECTED: &str = "nothing-selected";

/// The list after its form was sent without a tick, saying so. `asked` is where it was sent from.
pub(super) fn after_no_selection(organization: &Slug, asked: &Fields) -> Result<String, Refusal> {
    let list = links::organization_keys(organization);
    let listing = Listing::parse(asked)?;
    let saying = ("notice", Some(NOTHING_SELECTED));
    Ok(listing.address_with(&list, listing.listed.part.after, saying))
}

/// The list as it is after keys were revoked, saying so.
pub(super) fn after_revocation(organization: &Slug, revoked: &RevokedKeys) -> String {
    let first = revoked.first.map(|first| first.to_string());
    let others = revoked.count.saturating_sub(1);
    let others = (others > 0).then(|| others.to_string());
    links::with_query(
        &links::organization_keys(organization),
        [
            ("status", Some(Standing::All.as_str())),
            ("revoked", Some(first.as_deref().unwrap_or("none"))),
            ("others", others.as_deref()),
        ],
    )
}

#[handler]
pub(crate) async fn show(
    Data(console): Data<&Arc<Console>>,
    // Before it is known who asks: who is not signed in takes the address along to the sign-in page.
    TokenlessAddress: TokenlessAddress,
    Owner { insider, authority }: Owner,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let listing = Listing::parse(&query)?;
    let slug = &insider.member.organization.slug;
    let part = listing.listed.part;
    let now = insider.now;
    let filter = listing.filter(now);
    let found = console
        .organization_keys
        .list(&authority, filter, part.request(), now)
        .await?;
    let names = console
        .names
        .find(authority.organization_id(), &others_in(&found.items, now))
        .await?;
    let list = links::organization_keys(slug);
    let is_empty = found.items.is_empty() && has_no_key(console, &authority, now).await?;
    let page = OrganizationKeysPage {
        settings: Settings::new(&insider, Section::ApiKeys),
        views: views(&insider, true),
        revoke: links::revoke_organization_keys(slug),
        notice: notice(console, &authority, &query, now).await?,
        is_empty,
        search: part.search,
        status: listing.listed.status,
        statuses: listing.tabs(&list),
        unused_choices: listing.unused_choices(),
        holder: holder(console, &authority, &listing, &list, now).await?,
        is_filtered: listing.is_filtered(),
        unfiltered: listing.unfiltered(&list),
        everywhere: listing.among(Standing::All, &list),
        none: listing.listed.status.called().several,
        caption: part.caption(
            found.items.len(),
            found.next.is_some(),
            listing.listed.status.called(),
        ),
        rows: found
            .items
            .iter()
            .map(|key| KeyRow::new(key, slug, &names, now))
            .collect(),
        has_valid: found.items.iter().any(|key| key.is_valid(now)),
        repeated: listing.repeated(),
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

    fn filter(&self, now: DateTime<Utc>) -> OrganizationKeyFilter {
        let (status, holders) = self.listed.status.filters();
        let search = Some(self.listed.part.search);
        let mut filter = OrganizationKeyFilter::new(status, search).held_by(holders);
        if let Some(holder) = self.holder {
            filter = filter.of_consumer(holder);
        }
        if let Some(days) = self.unused {
            filter = filter.unused_since(now - TimeDelta::days(days.into()));
        }
        filter
    }

    fn address(&self, list: &str, after: Option<ApiKeyId>) -> String {
        self.address_with(list, after, ("notice", None))
    }

    fn address_with(&self, list: &str, after: Option<ApiKeyId>, notice: (&str, Option<&str>)) -> String {
        let unused = self.unused.map(|days| days.to_string());
        let holder = self.holder.map(|holder| holder.to_string());
        let more = [
            self.listed.field(),
            ("unused", unused.as_deref()),
            ("holder", holder.as_deref()),
            notice,
        ];
        self.listed.part.address(list, after, more)
    }

    /// The fields of its address but for the holder, which the page for revocation takes for a choice.
    fn repeated(&self) -> Vec<(&'static str, String)> {
        let StatusListing { status, part } = self.listed;
        let fields = [
            ("status", Some(status.as_str().to_owned())),
            ("search", Some(part.search.to_owned())),
            ("unused", self.unused.map(|days| days.to_string())),
            ("after", part.after.map(|id| id.to_string())),
        ];
        let given = fields
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        given.filter(|(_, value)| !value.is_empty()).collect()
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
        let tabs = Standing::TABS.iter().map(|&(status, label)| SectionLink {
            label,
            address: self.among(status, list),
            is_current: status == self.listed.status,
        });
        tabs.collect()
    }

    /// The address of the same search among the keys of a status.
    fn among(&self, status: Standing, list: &str) -> String {
        let listed = StatusListing {
            status,
            ..self.listed
        };
        Listing { listed, ..*self }.address(list, None)
    }

    /// Whether the search form says anything.
    const fn is_filtered(&self) -> bool {
        !self.listed.part.search.is_empty() || self.unused.is_some()
    }

    /// The address of what the list shows with an empty search form.
    fn unfiltered(&self, list: &str) -> String {
        let holder = self.holder.map(|holder| holder.to_string());
        let fields = [self.listed.field(), ("holder", holder.as_deref())];
        links::with_query(list, fields)
    }
}

async fn first_of(
    console: &Console,
    authority: &Authority,
    filter: OrganizationKeyFilter,
    now: DateTime<Utc>,
) -> Result<Option<HeldKey>, Refusal> {
    let request = PageRequest {
        size: PageSize::ONE,
        after: None,
    };
    let page = console
        .organization_keys
        .list(authority, filter, request, now)
        .await?;
    Ok(page.items.into_iter().next())
}

async fn has_no_key(console: &Console, authority: &Authority, now: DateTime<Utc>) -> Result<bool, Refusal> {
    let any = OrganizationKeyFilter::new(StatusFilter::All, None);
    Ok(first_of(console, authority, any, now).await?.is_none())
}

/// Whose keys are shown, if only one person's are. Somebody without keys has no name here.
async fn holder(
    console: &Console,
    authority: &Authority,
    listing: &Listing<'_>,
    list: &str,
    now: DateTime<Utc>,
) -> Result<Option<Holder>, Refusal> {
    let Some(id) = listing.holder else {
        return Ok(None);
    };
    let theirs = OrganizationKeyFilter::new(StatusFilter::All, None).of_consumer(id);
    let key = first_of(console, authority, theirs, now).await?;
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

async fn notice(
    console: &Console,
    authority: &Authority,
    query: &Fields,
    now: DateTime<Utc>,
) -> Result<Option<Notice>, Refusal> {
    if query.optional("notice") == Some(NOTHING_SELECTED) {
        return Ok(Some(Notice::NothingSelected));
    }
    let Some(id) = query.optional("revoked") else {
        let searched = query
            .optional(TokenlessAddress::NOTICE)
            .and(query.optional("search"));
        return Ok(searched.map(|_| Notice::SearchedForToken));
    };
    let Ok(id) = id.parse::<ApiKeyId>() else {
        return Ok(Some(Notice::Nothing));
    };
    let key = console.organization_keys.find(authority, id).await?;
    let key = key.filter(|key| !key.is_valid(now));
    let others = query.optional("others").and_then(|others| others.parse().ok());
    Ok(key.map(|key| Notice::Revoked {
        name: key.name.to_string(),
        others: others.unwrap_or(0),
    }))
}

//! Organization Settings → API Keys → All keys: those of all members, for owners.

use std::sync::Arc;

use askama::Template;
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
use crate::pages::held_key::KeyRow;
use crate::pages::html;
use crate::pages::settings::{Section, SectionLink, Settings};
use crate::pages::tokenless_address::TokenlessAddress;
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

/// The query of the list's address.
struct Listing<'a> {
    status: StatusFilter,
    search: &'a str,
    unused: Option<u16>,
    holder: Option<ConsumerId>,
    after: Option<ApiKeyId>,
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
pub(super) fn after_revocation(organization: &Slug, revoked: &RevokedKeys) -> String {
    let first = revoked.first.map(|first| first.to_string());
    let others = revoked.count.saturating_sub(1);
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
    // Before it is known who asks: who is not signed in takes the address along to the sign-in page.
    TokenlessAddress: TokenlessAddress,
    insider: Insider,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let authority = insider.member.as_authority().ok_or(Refusal::NotFound)?;
    let listing = Listing::parse(&query)?;
    let slug = &insider.member.organization.slug;
    let request = PageRequest {
        size: PageSize::DEFAULT,
        after: listing.after,
    };
    let filter = listing.filter(console);
    let found = console
        .organization_keys
        .list(&authority, filter, request)
        .await?;
    let is_empty = found.items.is_empty() && has_no_key(console, &authority).await?;
    let page = OrganizationKeysPage {
        settings: Settings::new(&insider, Section::ApiKeys),
        views: views(&insider, true),
        list: links::organization_keys(slug),
        revoke: links::revoke_organization_keys(slug),
        notice: notice(console, &authority, &query).await?,
        is_empty,
        search: listing.search,
        status: listing.status,
        statuses: listing.statuses(slug),
        unused_choices: listing.unused_choices(),
        holder: holder(console, &authority, &listing, slug).await?,
        rows: found.items.iter().map(|key| KeyRow::new(key, slug)).collect(),
        newest: listing.after.map(|_| {
            Listing {
                after: None,
                ..listing
            }
            .address(slug)
        }),
        older: found.next.map(|next| {
            let after = Some(next);
            Listing { after, ..listing }.address(slug)
        }),
    };
    html(StatusCode::OK, &page)
}

impl<'a> Listing<'a> {
    fn parse(query: &'a Fields) -> Result<Self, Refusal> {
        let status = match query.optional("status") {
            None => StatusFilter::default(),
            Some(word) => StatusFilter::from_word(word).ok_or(Refusal::BadAddress)?,
        };
        let unused = match query.optional("unused").unwrap_or_default() {
            "" => None,
            days => Some(days.parse().map_err(|_| Refusal::BadAddress)?),
        };
        let holder = query.optional("holder").map(str::parse).transpose();
        let after = query.optional("after").map(str::parse).transpose();
        Ok(Self {
            status,
            search: query.optional("search").unwrap_or_default().trim(),
            unused,
            holder: holder.map_err(|_| Refusal::BadAddress)?,
            after: after.map_err(|_| Refusal::BadAddress)?,
        })
    }

    fn filter(&self, console: &Console) -> OrganizationKeyFilter {
        let mut filter = OrganizationKeyFilter::new(self.status, Some(self.search));
        if let Some(holder) = self.holder {
            filter = filter.of_consumer(holder);
        }
        if let Some(days) = self.unused {
            filter = filter.unused_since(console.organization_keys.days_ago(days));
        }
        filter
    }

    fn address(&self, slug: &Slug) -> String {
        let status = (self.status != StatusFilter::default()).then_some(self.status.as_str());
        let search = (!self.search.is_empty()).then_some(self.search);
        let unused = self.unused.map(|days| days.to_string());
        let holder = self.holder.map(|holder| holder.to_string());
        let after = self.after.map(|after| after.to_string());
        links::with_query(
            &links::organization_keys(slug),
            [
                ("status", status),
                ("search", search),
                ("unused", unused.as_deref()),
                ("holder", holder.as_deref()),
                ("after", after.as_deref()),
            ],
        )
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

    fn statuses(&self, slug: &Slug) -> Vec<SectionLink> {
        [
            (StatusFilter::Valid, "Valid"),
            (StatusFilter::Revoked, "Revoked"),
            (StatusFilter::All, "All"),
        ]
        .map(|(status, label)| SectionLink {
            label,
            address: Listing {
                status,
                after: None,
                ..*self
            }
            .address(slug),
            is_current: status == self.status,
        })
        .into()
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
    slug: &Slug,
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
            after: None,
            ..*listing
        }
        .address(slug),
    }))
}

async fn notice(console: &Console, authority: &Authority, query: &Fields) -> Result<Option<Notice>, Refusal> {
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
    let key = key.filter(|key| !key.is_valid());
    let others = query.optional("others").and_then(|others| others.parse().ok());
    Ok(key.map(|key| Notice::Revoked {
        name: key.name.to_string(),
        others: others.unwrap_or(0),
    }))
}

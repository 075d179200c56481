//! Organization Settings → API Keys: the viewer's own keys.

mod refused_uses;
mod rows;

use std::sync::Arc;

use askama::Template;
use chrono::{DateTime, Utc};
use keyward_domain::api_key::ApiKey;
use keyward_domain::holder::Holder;
use keyward_domain::id::ApiKeyId;
use keyward_domain::keys::{PersonalKeys, ReadKeyError};
use keyward_domain::organization::Slug;
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::{KeyFilter, StatusFilter};
use keyward_domain::public_url::PublicUrl;
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::{Fields, Query};
use crate::pages::html;
use crate::pages::key_status::{KeyListing, called, title};
use crate::pages::organization_keys::views;
use crate::pages::settings::{Section, SectionLink, Settings};
use crate::pages::tokenless_address::TokenlessAddress;
use crate::refusal::Refusal;
use crate::viewer::Insider;
use crate::{Console, links};
use refused_uses::{RefusedUse, refused_uses};
use rows::{Creator, Revoker, Row, rows};

#[derive(Template)]
#[template(path = "api_keys.html")]
struct ApiKeysPage<'a> {
    settings: Settings,
    public_url: &'a PublicUrl,
    /// The way to all keys, for owners.
    views: Vec<SectionLink>,
    list: String,
    create: String,
    notice: Option<Notice>,
    refused_uses: Vec<RefusedUse>,
    /// The holder has never had a key.
    is_first_visit: bool,
    search: &'a str,
    status: StatusFilter,
    statuses: Vec<SectionLink>,
    /// The list without its search.
    unsearched: String,
    /// The same search among the keys of every status.
    everywhere: String,
    list_title: &'static str,
    caption: String,
    rows: Vec<Row>,
    newest: Option<String>,
    older: Option<String>,
}

/// What has just happened to a key of this list, which is looked up, so that no link can claim it; or to the search.
enum Notice {
    Revoked {
        name: String,
        others: u16,
    },
    Edited {
        name: String,
    },
    AlreadyCreated {
        name: String,
        hint: String,
    },
    /// The search was for a whole token, and is now for its last four characters.
    SearchedForToken,
    /// They are a member, as nobody without being one sees this page.
    Joined,
}

impl Notice {
    /// Whether something was done as asked; else there is something to mind.
    const fn is_good(&self) -> bool {
        match self {
            Self::Revoked { .. } | Self::Edited { .. } | Self::Joined => true,
            Self::AlreadyCreated { .. } | Self::SearchedForToken => false,
        }
    }
}

/// The list for somebody who has just joined, saying so.
pub(super) fn after_joining(organization: &Slug) -> String {
    links::with_query(&links::api_keys(organization), [("joined", Some("yes"))])
}

/// The list as it was before a key was revoked, saying so.
pub(super) fn after_revocation(
    organization: &Slug,
    listing: &KeyListing<'_>,
    key: ApiKeyId,
    others: usize,
) -> String {
    let others = (others > 0).then(|| others.to_string());
    let more = [
        listing.field(),
        ("revoked", Some(&*key.to_string())),
        ("others", others.as_deref()),
    ];
    let part = listing.part;
    part.address(&links::api_keys(organization), part.after, more)
}

/// The list as it is after a key was edited, saying so.
pub(super) fn after_edit(organization: &Slug, key: ApiKeyId) -> String {
    links::with_query(
        &links::api_keys(organization),
        [("edited", Some(&*key.to_string()))],
    )
}

/// The list as it is after a form was sent again that had created a key before.
pub(super) fn after_repeated_form(organization: &Slug, key: ApiKeyId) -> String {
    links::with_query(
        &links::api_keys(organization),
        [("already-created", Some(&*key.to_string()))],
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
    let listing = KeyListing::parse(&query)?;
    let part = listing.part;
    let holder = insider.member.as_holder();
    let slug = &insider.member.organization.slug;
    let filter = KeyFilter::new(listing.status, Some(part.search));
    let now = insider.now;
    let found = console.keys.list(&holder, filter, part.request(), now).await?;
    let list = links::api_keys(slug);
    let is_first_visit = found.items.is_empty() && has_no_key(&console.keys, &holder, now).await?;
    let page = ApiKeysPage {
        settings: Settings::new(&insider, Section::ApiKeys),
        public_url: &console.public_url,
        views: views(&insider, false),
        create: links::new_api_key(slug),
        notice: notice(&console.keys, &holder, &query, now).await?,
        refused_uses: refused_uses(console, &holder, &query).await?,
        is_first_visit,
        search: part.search,
        status: listing.status,
        statuses: listing.tabs(&list),
        unsearched: listing.unsearched(&list),
        everywhere: listing.among(&list, StatusFilter::All),
        list_title: title(listing.status),
        caption: part.caption(found.items.len(), found.next.is_some(), called(listing.status)),
        newest: listing.newest(&list),
        older: found.next.map(|next| listing.address(&list, Some(next))),
        rows: rows(console, &holder, slug, &listing, found, now).await?,
        list,
    };
    html(StatusCode::OK, &page)
}

async fn has_no_key(keys: &PersonalKeys, holder: &Holder, now: DateTime<Utc>) -> Result<bool, Refusal> {
    let any = KeyFilter::new(StatusFilter::All, None);
    let request = PageRequest {
        size: PageSize::DEFAULT,
        after: None,
    };
    Ok(keys.list(holder, any, request, now).await?.items.is_empty())
}

async fn notice(
    keys: &PersonalKeys,
    holder: &Holder,
    query: &Fields,
    now: DateTime<Utc>,
) -> Result<Option<Notice>, Refusal> {
    if let Some(key) = named_key(keys, holder, query.optional("revoked")).await?
        && !key.is_valid(now)
    {
        let others = query.optional("others").and_then(|others| others.parse().ok());
        return Ok(Some(Notice::Revoked {
            name: key.name.to_string(),
            others: others.unwrap_or(0),
        }));
    }
    if let Some(key) = named_key(keys, holder, query.optional("edited")).await? {
        return Ok(Some(Notice::Edited {
            name: key.name.to_string(),
        }));
    }
    if query.optional(TokenlessAddress::NOTICE).is_some() && query.optional("search").is_some() {
        return Ok(Some(Notice::SearchedForToken));
    }
    if query.optional("joined").is_some() {
        return Ok(Some(Notice::Joined));
    }
    let key = named_key(keys, holder, query.optional("already-created")).await?;
    Ok(key.map(|key| Notice::AlreadyCreated {
        name: key.name.to_string(),
        hint: key.hint.to_string(),
    }))
}

async fn named_key(
    keys: &PersonalKeys,
    holder: &Holder,
    id: Option<&str>,
) -> Result<Option<ApiKey>, Refusal> {
    match id.and_then(|id| id.parse().ok()) {
        Some(id) => find(keys, holder, id).await,
        None => Ok(None),
    }
}

async fn find(keys: &PersonalKeys, holder: &Holder, id: ApiKeyId) -> Result<Option<ApiKey>, Refusal> {
    match keys.read(holder, id).await {
        Ok(key) => Ok(Some(key)),
        Err(ReadKeyError::NotFound) => Ok(None),
        Err(ReadKeyError::Storage(error)) => Err(error.into()),
    }
}

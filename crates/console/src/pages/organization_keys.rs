//! Organization Settings → API Keys → All keys: those of all members, for owners.

use std::collections::HashMap;

use askama::Template;
use chrono::{DateTime, TimeDelta, Utc};
use keyward_domain::administration::ports::{CutoffTooRecent, HeldKey, OrganizationKeyFilter};
use keyward_domain::api_key::LongestLife;
use keyward_domain::audit::Subject;
use keyward_domain::id::{ApiKeyId, MembershipId};
use keyward_domain::organization::Slug;
use keyward_domain::page::{Page, PageRequest, PageSize};
use keyward_domain::ports::StatusFilter;
use poem::http::StatusCode;
use poem::{Response, handler};

use crate::answer::html;
use crate::flash::Message;
use crate::forms::{Fields, Query};
use crate::pages::field::Field;
use crate::pages::filters;
use crate::pages::held_key::names_beside;
use crate::pages::leaks::{self, Leaks};
use crate::pages::list::{Items, List};
use crate::pages::moment::to_the_second;
use crate::pages::notice::Notice;
use crate::pages::organization_key_tab::OrganizationKeyTab;
use crate::pages::settings::{Section, SectionLink, Settings};
use crate::paths;
use crate::reader::{Member, Owner};
use crate::refusal::{Refusal, cutoff_too_recent};

/// The choices for the filter of unused keys, in days.
const UNUSED_DAYS: [u16; 4] = [30, 90, 180, 365];
/// The choices for the filter of keys that expire, in days.
const EXPIRING_DAYS: [u16; 3] = [7, 30, 90];

#[derive(Template)]
#[template(path = "organization_keys.html")]
struct OrganizationKeysPage {
    settings: Settings,
    views: Vec<SectionLink>,
    notice: Option<Notice>,
    leaks: Leaks<HeldKey>,
    /// The form was sent without a tick.
    nothing_selected: bool,
    /// The form that revokes keys by a cut-off time.
    before: Field,
    /// The organization has never had a key.
    is_empty: bool,
    items: Items,
    unused: Option<u16>,
    expiring: Option<u16>,
    /// Only keys that it would shorten are shown.
    shortened_by: Option<LongestLife>,
    /// The only person whose keys are shown: one of their keys.
    holder: Option<HeldKey>,
    list: List<ApiKeyId>,
    tab: OrganizationKeyTab,
    found: Page<HeldKey, ApiKeyId>,
    names: HashMap<Subject, String>,
    now: DateTime<Utc>,
}

/// The parameter with the days of a longest life.
const SHORTENED_BY: &str = "shortened_by";

/// The list of the keys that applying this longest life would change.
pub(super) fn keys_shortened_by(longest: LongestLife, organization: &Slug) -> String {
    let days = longest.days().to_string();
    paths::with_query(
        paths::OrganizationKeys(organization),
        [(SHORTENED_BY, Some(&*days))],
    )
}

/// The way between one's own keys and those of all, for owners.
pub(super) fn views(member: &Member, shows_all: bool) -> Vec<SectionLink> {
    if member.authority().is_none() {
        return Vec::new();
    }
    let link = |label, url, is_current| SectionLink {
        label,
        url,
        is_current,
    };
    vec![
        link("Your keys", paths::ApiKeys(member.slug()).to_string(), !shows_all),
        link(
            "All keys",
            paths::OrganizationKeys(member.slug()).to_string(),
            shows_all,
        ),
    ]
}

/// The list's holder in the URL of the page for revocation, where `holder` selects all keys of a member.
const LIST_HOLDER: &str = "list_holder";

/// The list as the page for revocation finds it in its URL.
pub(super) fn behind_revocation(list: &List<ApiKeyId>) -> List<ApiKeyId> {
    let holder = list.kept.iter().find(|(name, _)| *name == "holder");
    let holder = holder.map(|(_, id)| id.clone());
    list.keeping("holder", None::<&str>).keeping(LIST_HOLDER, holder)
}

/// The query of the URL.
pub(super) struct Asked {
    pub(super) list: List<ApiKeyId>,
    tab: OrganizationKeyTab,
    unused: Option<u16>,
    expiring: Option<u16>,
    shortened_by: Option<LongestLife>,
    holder: Option<MembershipId>,
}

impl Asked {
    pub(super) fn read(owner: &Owner, query: &Fields) -> Result<Self, Refusal> {
        let (tab, list) = List::read_with_status(paths::OrganizationKeys(owner.slug()), query)?;
        let days = |name| {
            let days = query.optional(name).filter(|days| !days.is_empty());
            days.map(str::parse).transpose().map_err(|_| Refusal::BadUrl)
        };
        let (unused, expiring) = (days("unused")?, days("expires_within")?);
        let shortened_by = query.optional(SHORTENED_BY).map(|days| {
            let days = days.parse().map_err(|_| Refusal::BadUrl)?;
            LongestLife::of_days(days).map_err(|_| Refusal::BadUrl)
        });
        let shortened_by = shortened_by.transpose()?;
        let holder = query.optional("holder").map(str::parse).transpose();
        let holder = holder.map_err(|_| Refusal::BadUrl)?;
        Ok(Self {
            list: list
                .keeping("unused", unused)
                .keeping("expires_within", expiring)
                .keeping(SHORTENED_BY, shortened_by.map(LongestLife::days))
                .keeping("holder", holder),
            tab,
            unused,
            expiring,
            shortened_by,
            holder,
        })
    }

    /// The same for the page for revocation.
    pub(super) fn read_for_revocation(owner: &Owner, query: &Fields) -> Result<Self, Refusal> {
        let asked = Self::read(owner, query)?;
        let holder: Option<MembershipId> = query
            .optional(LIST_HOLDER)
            .map(str::parse)
            .transpose()
            .map_err(|_| Refusal::BadUrl)?;
        Ok(match holder {
            Some(holder) => Self {
                list: asked.list.keeping("holder", Some(holder)),
                holder: Some(holder),
                ..asked
            },
            None => asked,
        })
    }

    fn filter(&self, now: DateTime<Utc>) -> OrganizationKeyFilter {
        let (status, holders) = self.tab.filters();
        let mut filter = OrganizationKeyFilter::new(status, Some(&self.list.search)).held_by(holders);
        if let Some(holder) = self.holder {
            filter = filter.of_consumer(holder);
        }
        if let Some(days) = self.unused {
            filter = filter.unused_since(now - TimeDelta::days(days.into()));
        }
        if let Some(longest) = self.shortened_by {
            filter = filter.shortened_by(longest);
        }
        if let Some(days) = self.expiring {
            filter = filter.expiring_before(now + TimeDelta::days(days.into()));
        }
        filter
    }
}

#[handler]
pub(crate) async fn show(owner: Owner, Query(query): Query) -> Result<Response, Refusal> {
    let asked = Asked::read(&owner, &query)?;
    owner.page(&page(&owner, asked, Field::default()).await?)
}

/// The list, with the form that named this cut-off time and why no key can be revoked by it.
pub(super) async fn refuse_cutoff(
    owner: &Owner,
    asked: Asked,
    cutoff: DateTime<Utc>,
    error: CutoffTooRecent,
) -> Result<Response, Refusal> {
    let before = Field {
        error: Some(format!("Nothing was revoked. {}", cutoff_too_recent(error))),
        focused: true,
        ..Field::with_value(&to_the_second(cutoff))
    };
    let page = page(owner, asked, before).await?;
    Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page)?)
}

async fn page(owner: &Owner, asked: Asked, before: Field) -> Result<OrganizationKeysPage, Refusal> {
    let (keys, authority, now) = (&owner.console.organization_keys, &owner.authority, owner.now);
    let found = keys
        .list(authority, asked.filter(now), asked.list.request(), now)
        .await?;
    let any = OrganizationKeyFilter::new(StatusFilter::All, None);
    // A holder without keys is not named on the page.
    let holder = match asked.holder {
        Some(id) => first_of(owner, any.clone().of_consumer(id)).await?,
        None => None,
    };
    let nothing_selected = owner.has_flash(Message::NothingSelected);
    let notice = Notice::for_owner(owner).await?;
    Ok(OrganizationKeysPage {
        settings: Settings::new(owner, Section::ApiKeys),
        views: views(owner, true),
        notice: notice.filter(|_| !nothing_selected),
        leaks: leaks::of_organization(owner, &asked.list).await?,
        nothing_selected,
        is_empty: before.error.is_none() && found.items.is_empty() && first_of(owner, any).await?.is_none(),
        before,
        items: asked.tab.noun(),
        unused: asked.unused,
        expiring: asked.expiring,
        shortened_by: asked.shortened_by,
        holder,
        names: names_beside(&found.items, owner).await?,
        tab: asked.tab,
        list: asked.list,
        found,
        now,
    })
}

/// The days to choose from: the usual ones, and that of the URL.
fn choices(usual: &[u16], asked: Option<u16>) -> Vec<u16> {
    let unusual = asked.filter(|days| !usual.contains(days));
    usual.iter().copied().chain(unusual).collect()
}

async fn first_of(owner: &Owner, filter: OrganizationKeyFilter) -> Result<Option<HeldKey>, Refusal> {
    let first = PageRequest::first(PageSize::ONE);
    let keys = &owner.console.organization_keys;
    let found = keys.list(&owner.authority, filter, first, owner.now).await?;
    Ok(found.items.into_iter().next())
}

impl OrganizationKeysPage {
    /// Whether any of them can still be revoked.
    fn has_valid(&self) -> bool {
        self.found.items.iter().any(|key| key.is_valid(self.now))
    }

    fn unused_days(&self) -> Vec<u16> {
        choices(&UNUSED_DAYS, self.unused)
    }

    fn expiring_days(&self) -> Vec<u16> {
        choices(&EXPIRING_DAYS, self.expiring)
    }

    /// Whether the search form says anything.
    const fn is_filtered(&self) -> bool {
        !self.list.search.is_empty() || self.unused.is_some() || self.expiring.is_some()
    }

    /// The URL of the list without filters.
    fn unfiltered(&self) -> String {
        let list = self.list.keeping("unused", None::<u16>);
        list.keeping("expires_within", None::<u16>).unsearched()
    }

    /// When a key ends if this longest life is applied now.
    fn end_by(&self, longest: &LongestLife, key: &HeldKey) -> DateTime<Utc> {
        longest.end_of_existing_key(key.created_at, self.now)
    }

    fn without_life_filter_url(&self) -> String {
        self.list.keeping(SHORTENED_BY, None::<u16>).first_page_url()
    }

    fn without_holder_filter_url(&self) -> String {
        self.list.keeping("holder", None::<&str>).first_page_url()
    }

    /// The parameters that the search form keeps. The others are its fields.
    fn kept_by_search(&self) -> Vec<(&'static str, String)> {
        let fields = ["unused", "expires_within"];
        let kept = self.list.kept.iter().filter(|(name, _)| !fields.contains(name));
        kept.cloned().collect()
    }

    /// The parameters of the page's URL that its forms repeat, so that the page for revocation can link back.
    fn repeated(&self) -> Vec<(&'static str, String)> {
        let List {
            kept, search, after, ..
        } = behind_revocation(&self.list);
        let search = (!search.is_empty()).then_some(("search", search));
        let after = after.map(|id| ("after", id.to_string()));
        kept.into_iter().chain(search).chain(after).collect()
    }
}

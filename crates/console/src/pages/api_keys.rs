//! Organization Settings → API Keys: the viewer's own keys.

pub(super) mod others;
mod refused_uses;

use askama::Template;
use chrono::{DateTime, Utc};
use keyward_domain::administration::AuditPage;
use keyward_domain::api_key::ApiKey;
use keyward_domain::id::ApiKeyId;
use keyward_domain::page::{Page, PageRequest, PageSize};
use keyward_domain::ports::{KeyFilter, StatusFilter};
use keyward_domain::public_url::PublicUrl;
use poem::{Response, handler};

use crate::forms::{Fields, Query};
use crate::pages::filters;
use crate::pages::key_status::{noun, title};
use crate::pages::leaks::{self, Leaks};
use crate::pages::list::{Items, List};
use crate::pages::notice::Notice;
use crate::pages::organization_keys::views;
use crate::pages::settings::{Section, SectionLink, Settings};
use crate::paths;
use crate::reader::Member;
use crate::refusal::Refusal;
use others::{Creator, Others, Revoker};
use refused_uses::{hint_in, key_in, refused_uses};

#[derive(Template)]
#[template(path = "api_keys.html")]
struct ApiKeysPage<'a> {
    settings: Settings,
    notice: Option<Notice>,
    public_url: &'a PublicUrl,
    /// For owners, the link to all keys.
    views: Vec<SectionLink>,
    /// The planned end of the holder's membership.
    expires_at: Option<DateTime<Utc>>,
    leaks: Leaks<ApiKey>,
    refused_uses: Option<AuditPage>,
    /// The holder has never had a key.
    is_first_visit: bool,
    title: &'static str,
    items: Items,
    status: StatusFilter,
    list: List<ApiKeyId>,
    found: Page<ApiKey, ApiKeyId>,
    others: Others,
    now: DateTime<Utc>,
}

/// The list that the query describes, to which the pages of its keys link back.
pub(super) fn list_in(member: &Member, query: &Fields) -> Result<List<ApiKeyId>, Refusal> {
    let list = List::read_with_status::<StatusFilter>(paths::ApiKeys(member.slug()), query)?;
    Ok(list.1)
}

#[handler]
pub(crate) async fn show(member: Member, Query(query): Query) -> Result<Response, Refusal> {
    let (status, list) = List::read_with_status(paths::ApiKeys(member.slug()), &query)?;
    let (keys, holder) = (&member.console.keys, member.holder());
    let filter = KeyFilter::new(status, Some(&list.search));
    let found = keys.list(&holder, filter, list.request(), member.now).await?;
    let any = KeyFilter::new(StatusFilter::All, None);
    let first = PageRequest::first(PageSize::ONE);
    member.page(&ApiKeysPage {
        settings: Settings::new(&member, Section::ApiKeys),
        notice: Notice::for_member(&member).await?,
        public_url: &member.console.public_url,
        views: views(&member, false),
        expires_at: member.member.membership.expires_at(member.now),
        leaks: leaks::of_member(&member, &list).await?,
        refused_uses: refused_uses(&member, &list).await?,
        is_first_visit: found.items.is_empty()
            && keys.list(&holder, any, first, member.now).await?.items.is_empty(),
        title: title(status),
        items: noun(status),
        status,
        others: Others::beside(&found.items, &member).await?,
        list,
        found,
        now: member.now,
    })
}

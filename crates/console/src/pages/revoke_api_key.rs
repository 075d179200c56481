//! Revoking a key, deliberately. The script shows this page's form in a dialog on the list.

use std::sync::Arc;

use askama::Template;
use chrono::{DateTime, Utc};
use keyward_domain::api_key::{ApiKey, KeyPrecondition};
use keyward_domain::id::ApiKeyId;
use keyward_domain::keys::{ReadKeyError, RevokeKeyError};
use keyward_domain::ports::{DescendantKeys, StorageError};
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::{Form, Query};
use crate::pages::api_keys::after_revocation;
use crate::pages::key_status::KeyListing;
use crate::pages::last_used::LastUsed;
use crate::pages::moment::Moment;
use crate::pages::settings::{Section, Settings};
use crate::pages::what_stops::if_counted;
use crate::pages::{html, redirect};
use crate::path_id::PathId;
use crate::refusal::Refusal;
use crate::request_source::Source;
use crate::viewer::Insider;
use crate::{Console, links};

#[derive(Template)]
#[template(path = "revoke_api_key.html")]
struct RevokeApiKeyPage {
    settings: Settings,
    /// The list as it was.
    list: String,
    address: String,
    key: KeyInQuestion,
    /// The valid keys that were made from it, if they could be counted.
    descendants: Option<Vec<KeyInQuestion>>,
    /// What was chosen before the form came back.
    revoke_descendants: bool,
    confirmation_missing: bool,
}

/// A key as the page names it.
struct KeyInQuestion {
    name: String,
    hint: String,
    created: Moment,
    last_used: Option<LastUsed>,
    revoked: Option<Moment>,
}

#[handler]
pub(crate) async fn show(
    Data(console): Data<&Arc<Console>>,
    insider: Insider,
    PathId(id): PathId<ApiKeyId>,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let page = page(console, &insider, id, &KeyListing::parse(&query)?).await?;
    html(StatusCode::OK, &page)
}

#[handler]
pub(crate) async fn submit(
    Data(console): Data<&Arc<Console>>,
    PathId(id): PathId<ApiKeyId>,
    Source(source): Source,
    Query(query): Query,
    Form(form): Form,
    // After the form, which may be long on its way: who sends it must still be signed in when it is here.
    insider: Insider,
) -> Result<Response, Refusal> {
    let listing = KeyListing::parse(&query)?;
    let descendants = match form.optional("descendants") {
        Some("revoke") => DescendantKeys::Revoke,
        None => DescendantKeys::Keep,
        Some(_) => return Err(Refusal::BadForm("The choice about the other keys is invalid.")),
    };
    if form.optional("confirm") != Some("yes") {
        let page = RevokeApiKeyPage {
            revoke_descendants: descendants == DescendantKeys::Revoke,
            confirmation_missing: true,
            ..page(console, &insider, id, &listing).await?
        };
        return html(StatusCode::UNPROCESSABLE_ENTITY, &page);
    }
    let holder = insider.member.as_holder();
    // Whatever it is called by now: whoever has stolen one key, and renames the others all the time, must not keep people from
    // revoking them.
    let any = KeyPrecondition::AnyVersion;
    match console.keys.revoke(&holder, id, descendants, any, source).await {
        Ok(revoked) => {
            let others = revoked.iter().filter(|revoked| **revoked != id).count();
            Ok(redirect(&after_revocation(
                &insider.member.organization.slug,
                &listing,
                id,
                others,
            )))
        }
        Err(RevokeKeyError::HolderGone | RevokeKeyError::NotFound) => Err(Refusal::NotFound),
        Err(error @ RevokeKeyError::PreconditionFailed) => Err(StorageError::Defect(error.into()).into()),
        Err(RevokeKeyError::Storage(error)) => Err(error.into()),
    }
}

async fn page(
    console: &Console,
    insider: &Insider,
    id: ApiKeyId,
    listing: &KeyListing<'_>,
) -> Result<RevokeApiKeyPage, Refusal> {
    let holder = insider.member.as_holder();
    let key = match console.keys.read(&holder, id).await {
        Ok(key) => key,
        Err(ReadKeyError::NotFound) => return Err(Refusal::NotFound),
        Err(ReadKeyError::Storage(error)) => return Err(error.into()),
    };
    let (slug, now) = (&insider.member.organization.slug, insider.now);
    let descendants = if_counted(console.keys.valid_descendants(&holder, id, now).await);
    Ok(RevokeApiKeyPage {
        settings: Settings::new(insider, Section::ApiKeys),
        list: listing.address(&links::api_keys(slug), listing.part.after),
        address: listing.address(&links::revoke_api_key(slug, id), listing.part.after),
        key: KeyInQuestion::new(&key, now),
        descendants: descendants.map(|keys| keys.iter().map(|key| KeyInQuestion::new(key, now)).collect()),
        revoke_descendants: false,
        confirmation_missing: false,
    })
}

impl RevokeApiKeyPage {
    fn has_no_descendants(&self) -> bool {
        self.descendants.as_ref().is_some_and(Vec::is_empty)
    }

    fn has_one_descendant(&self) -> bool {
        self.descendants.as_ref().is_some_and(|keys| keys.len() == 1)
    }
}

impl KeyInQuestion {
    fn new(key: &ApiKey, now: DateTime<Utc>) -> Self {
        Self {
            name: key.name.to_string(),
            hint: key.hint.to_string(),
            created: Moment(key.created_at),
            last_used: key.last_use.map(LastUsed::from),
            revoked: key.revoked(now).map(|revocation| Moment(revocation.end.at())),
        }
    }
}

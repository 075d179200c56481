//! The confirmation page for applying the longest life to keys that exist. It previews which keys get an end; without that
//! preview, none does.

use askama::Template;
use chrono::{DateTime, Utc};
use keyward_domain::administration::ports::{ApplyLongestLifeError, PreviewedKeys};
use keyward_domain::administration::{StopReason, Stopped};
use keyward_domain::api_key::LongestLife;
use keyward_domain::failure_sentence::sentence;
use keyward_domain::ports::StorageError;
use poem::http::StatusCode;
use poem::{Response, handler};

use crate::answer::{html, redirect};
use crate::flash::Message;
use crate::forms::{OwnerForm, Sent};
use crate::pages::filters;
use crate::pages::organization_keys::keys_shortened_by;
use crate::pages::revoke_keys::TIME_BUDGET;
use crate::pages::settings::{Section, Settings};
use crate::paths;
use crate::reader::Owner;
use crate::refusal::Refusal;

#[derive(Template)]
#[template(path = "apply_key_life.html")]
struct ApplyKeyLifePage {
    settings: Settings,
    longest: LongestLife,
    keys: PreviewedKeys,
    now: DateTime<Utc>,
    confirmation_missing: bool,
    /// The form was for another longest life than there is now: how many keys had got an end by then.
    limit_changed: Option<u32>,
    /// How many keys got an end before the time budget was used up.
    progress: Option<u32>,
}

#[handler]
pub(crate) async fn show(owner: Owner) -> Result<Response, Refusal> {
    match owner.member.organization.longest_key_life {
        Some(longest) => owner.page(&ApplyKeyLifePage::new(&owner, longest).await?),
        None => Ok(redirect(paths::General(owner.slug()))),
    }
}

#[handler]
pub(crate) async fn submit(Sent(owner, form, source): OwnerForm) -> Result<Response, Refusal> {
    let seen = form.required("days")?.parse().ok();
    let seen = seen.and_then(|days| LongestLife::of_days(days).ok());
    let seen = seen.ok_or(Refusal::BadForm("The maximum lifetime is invalid."))?;
    if !form.is_confirmed() {
        let page = ApplyKeyLifePage {
            confirmation_missing: true,
            ..ApplyKeyLifePage::new(&owner, seen).await?
        };
        return Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page)?);
    }
    // If the keys could not be shown, the owner has not confirmed the consequences.
    preview(&owner, seen).await?;
    let keys = &owner.console.organization_keys;
    let applied = keys.apply_longest_life(&owner.authority, seen, source, TIME_BUDGET);
    let Err(Stopped {
        progress: shortened,
        why,
    }) = applied.await
    else {
        return Ok(owner.redirect(paths::General(owner.slug()), Message::KeyLifeApplied));
    };
    match why {
        StopReason::TimeBudgetExceeded => {}
        StopReason::Refused(ApplyLongestLifeError::NotAllowed) => return Err(Refusal::NotFound),
        StopReason::Refused(ApplyLongestLifeError::LimitChanged) => {
            return limit_changed(&owner, shortened).await;
        }
        StopReason::Refused(ApplyLongestLifeError::Storage(error @ StorageError::Unavailable(_)))
            if shortened > 0 =>
        {
            tracing::warn!(
                error = sentence(&error),
                shortened,
                "applying the maximum lifetime stopped early"
            );
        }
        StopReason::Refused(ApplyLongestLifeError::Storage(error)) => return Err(error.into()),
    }
    let rest = ApplyKeyLifePage {
        progress: Some(shortened),
        ..ApplyKeyLifePage::new(&owner, seen).await?
    };
    if rest.changes_nothing() {
        return Ok(owner.redirect(paths::General(owner.slug()), Message::KeyLifeApplied));
    }
    owner.page(&rest)
}

/// The page with the longest life that there was when this request began; the General page if there was none.
async fn limit_changed(owner: &Owner, shortened: u32) -> Result<Response, Refusal> {
    let Some(longest) = owner.member.organization.longest_key_life else {
        return Ok(owner.redirect(paths::General(owner.slug()), Message::KeyLifeRemoved));
    };
    let page = ApplyKeyLifePage {
        limit_changed: Some(shortened),
        ..ApplyKeyLifePage::new(owner, longest).await?
    };
    Ok(html(StatusCode::CONFLICT, &page)?)
}

async fn preview(owner: &Owner, longest: LongestLife) -> Result<PreviewedKeys, StorageError> {
    let keys = &owner.console.organization_keys;
    keys.longest_life_preview(&owner.authority, longest, owner.now)
        .await
}

impl ApplyKeyLifePage {
    async fn new(owner: &Owner, longest: LongestLife) -> Result<Self, StorageError> {
        Ok(Self {
            settings: Settings::new(owner, Section::General),
            longest,
            keys: preview(owner, longest).await?,
            now: owner.now,
            confirmation_missing: false,
            limit_changed: None,
            progress: None,
        })
    }

    const fn changes_nothing(&self) -> bool {
        self.keys.keys == 0
    }

    /// The list of all keys of the preview.
    fn all_keys(&self) -> String {
        keys_shortened_by(self.longest, &self.settings.slug)
    }

    fn end_of(&self, created_at: &DateTime<Utc>) -> DateTime<Utc> {
        self.longest.end_of_existing_key(*created_at, self.now)
    }
}

//! The form that rotates a key. The answer shows the token of the new one, once.

use askama::Template;
use chrono::{DateTime, Utc};
use keyward_domain::api_key::{ApiKey, Grace, OldKeyEnd, Revocation, RevocationReason};
use keyward_domain::id::ApiKeyId;
use keyward_domain::keys::{IdempotencyKey, RotateKeyError, RotationDraft};
use poem::http::StatusCode;
use poem::{Response, handler};

use crate::answer::html;
use crate::flash::Message;
use crate::forms::{MemberForm, Query, Sent};
use crate::pages::api_keys::list_in;
use crate::pages::filters;
use crate::pages::list::List;
use crate::pages::new_api_key::IssuedApiKeyPage;
use crate::pages::settings::{Section, Settings};
use crate::pages::successor::live_successor;
use crate::pages::waiting::too_many;
use crate::path_id::PathId;
use crate::paths;
use crate::reader::Member;
use crate::refusal::Refusal;
use crate::wait::Wait;

#[derive(Template)]
#[template(path = "rotate_api_key.html")]
struct RotateApiKeyPage {
    settings: Settings,
    /// The list that the page leads back to, as its own URL names it.
    list: List<ApiKeyId>,
    key: ApiKey,
    /// Set for a key that has ended, which cannot be rotated: the page then has no form.
    revoked: Option<Revocation>,
    /// A valid key takes its place already: the page then has no form.
    is_replaced: bool,
    /// The new key gets the expiration of the old one, unless that is only the end that a rotation planned.
    keeps_expiration: bool,
    idempotency_key: IdempotencyKey,
    chosen: OldKeyEndChoice,
    /// How long to wait, if the rate limit for changing keys is exceeded.
    rate_limited: Option<Wait>,
    has_errors: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OldKeyEndChoice {
    AfterADay,
    AfterAWeek,
    OnFirstUse,
    AtOnce,
}

#[handler]
pub(crate) async fn show(
    member: Member,
    PathId(id): PathId<ApiKeyId>,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let list = list_in(&member, &query)?;
    let key = member.console.keys.read(&member.holder(), id).await?;
    let idempotency_key = member.console.new_idempotency_key();
    let page = RotateApiKeyPage::of(&member, list, key, member.now, idempotency_key);
    member.page(&page.await?)
}

#[handler]
pub(crate) async fn submit(
    Sent(member, form, source): MemberForm,
    PathId(id): PathId<ApiKeyId>,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let (keys, holder) = (&member.console.keys, member.holder());
    let list = list_in(&member, &query)?;
    let idempotency_key = form.idempotency_key()?;
    let chosen = OldKeyEndChoice::parse(form.required("old_key_ends")?)?;
    let draft = RotationDraft {
        old_key_ends: chosen.old_key_end(),
        expiry: None,
    };
    match keys
        .rotate(&holder, id, draft, Some(idempotency_key), source)
        .await
    {
        Ok(issued) => {
            let rotated = keys.read(&holder, id).await.ok();
            member.page(&IssuedApiKeyPage::new(&member, issued, rotated))
        }
        Err(RotateKeyError::AlreadyCreated(successor) | RotateKeyError::AlreadyRotated(successor)) => {
            let stored = keys.read(&holder, successor).await;
            if !stored.is_ok_and(|successor| successor.is_valid(member.now)) {
                // The form was sent again after what it created had ended: a new form can be sent.
                let (key, idempotency_key) = (
                    keys.read(&holder, id).await?,
                    member.console.new_idempotency_key(),
                );
                let page = RotateApiKeyPage::of(&member, list, key, member.now, idempotency_key);
                return Ok(html(StatusCode::CONFLICT, &page.await?)?);
            }
            let message = Message::KeyAlreadyRotated.about(successor.as_uuid());
            Ok(member.redirect(paths::ApiKeys(member.slug()), message))
        }
        Err(RotateKeyError::Throttled(throttled)) => {
            let key = keys.read(&holder, id).await?;
            let page = RotateApiKeyPage {
                chosen,
                rate_limited: Some(throttled.into()),
                has_errors: true,
                ..RotateApiKeyPage::of(&member, list, key, member.now, idempotency_key).await?
            };
            too_many(&page, throttled)
        }
        Err(RotateKeyError::Revoked) => {
            let key = keys.read(&holder, id).await?;
            // It may have been revoked after the form was read, so the time is read again.
            let page = RotateApiKeyPage::of(&member, list, key, member.console.now(), idempotency_key);
            Ok(html(StatusCode::CONFLICT, &page.await?)?)
        }
        Err(error) => Err(error.into()),
    }
}

impl RotateApiKeyPage {
    async fn of(
        member: &Member,
        list: List<ApiKeyId>,
        key: ApiKey,
        now: DateTime<Utc>,
        idempotency_key: IdempotencyKey,
    ) -> Result<Self, Refusal> {
        let by_rotation = |planned: &Revocation| planned.reason == RevocationReason::Rotation;
        Ok(Self {
            settings: Settings::new(member, Section::ApiKeys),
            list,
            revoked: key.revoked(now).cloned(),
            is_replaced: live_successor(&key, member, now).await?.is_some(),
            keeps_expiration: !key.revocation.as_ref().is_some_and(by_rotation),
            key,
            idempotency_key,
            chosen: OldKeyEndChoice::AfterADay,
            rate_limited: None,
            has_errors: false,
        })
    }
}

impl OldKeyEndChoice {
    const ALL: &[Self] = &[Self::AfterADay, Self::AfterAWeek, Self::OnFirstUse, Self::AtOnce];

    fn parse(value: &str) -> Result<Self, Refusal> {
        let choice = Self::ALL.iter().find(|choice| choice.value() == value);
        choice
            .copied()
            .ok_or(Refusal::BadForm("A choice in the form is invalid."))
    }

    const fn value(self) -> &'static str {
        match self {
            Self::AfterADay => "after_a_day",
            Self::AfterAWeek => "after_a_week",
            Self::OnFirstUse => "on_first_use",
            Self::AtOnce => "at_once",
        }
    }

    const fn label(self) -> &'static str {
        match self {
            Self::AfterADay => "In 24 hours",
            Self::AfterAWeek => "In 7 days",
            Self::OnFirstUse => "When the new token is first used",
            Self::AtOnce => "Now",
        }
    }

    const fn hint(self) -> &'static str {
        match self {
            Self::AfterADay | Self::AfterAWeek => "Until then, both tokens work.",
            Self::OnFirstUse => "Within two minutes. Until then, both tokens work.",
            Self::AtOnce => "The old token stops working immediately.",
        }
    }

    fn old_key_end(self) -> OldKeyEnd {
        match self {
            Self::AfterADay => OldKeyEnd::After(Grace::default()),
            Self::AfterAWeek => OldKeyEnd::After(Grace::MAX),
            Self::OnFirstUse => OldKeyEnd::OnFirstUse,
            Self::AtOnce => OldKeyEnd::AtOnce,
        }
    }
}

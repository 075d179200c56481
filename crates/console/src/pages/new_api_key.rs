//! The form that creates a key, and the only page that ever shows its token: the answer.

use askama::Template;
use keyward_domain::api_key::{ApiKey, ExpiryChange};
use keyward_domain::id::ApiKeyId;
use keyward_domain::keys::{AddKeyError, IdempotencyKey, IssuedKey, KeyDraft};
use keyward_domain::ports::KeyLimit;
use keyward_domain::public_url::PublicUrl;
use poem::http::StatusCode;
use poem::{Response, handler};

use crate::answer::html;
use crate::flash::Message;
use crate::forms::{MemberForm, Query, Sent};
use crate::pages::api_keys::list_in;
use crate::pages::expiry::ExpiryForm;
use crate::pages::filters;
use crate::pages::key_right;
use crate::pages::key_text::KeyTextForm;
use crate::pages::list::List;
use crate::pages::settings::{Section, Settings};
use crate::pages::waiting::too_many;
use crate::paths;
use crate::reader::Member;
use crate::refusal::Refusal;
use crate::wait::Wait;

#[derive(Template)]
#[template(path = "new_api_key.html")]
struct NewApiKeyPage {
    settings: Settings,
    /// The list that the page leads back to, as its own URL names it.
    list: List<ApiKeyId>,
    idempotency_key: IdempotencyKey,
    text: KeyTextForm,
    expiry: ExpiryForm,
    /// The chosen right; initially the organization's default for new keys.
    can_manage_keys: bool,
    /// The holder has as many valid keys as they may.
    limit_reached: Option<KeyLimit>,
    /// How long to wait, if the rate limit for changing keys is exceeded.
    rate_limited: Option<Wait>,
    has_errors: bool,
}

#[derive(Template)]
#[template(path = "issued_api_key.html")]
pub(super) struct IssuedApiKeyPage<'a> {
    settings: Settings,
    issued: IssuedKey,
    /// The key whose place it takes, if it was rotated.
    rotated: Option<ApiKey>,
    public_url: &'a PublicUrl,
}

impl<'a> IssuedApiKeyPage<'a> {
    pub(super) fn new(member: &'a Member, issued: IssuedKey, rotated: Option<ApiKey>) -> Self {
        Self {
            settings: Settings::new(member, Section::ApiKeys),
            issued,
            rotated,
            public_url: &member.console.public_url,
        }
    }
}

#[handler]
pub(crate) async fn show(member: Member, Query(query): Query) -> Result<Response, Refusal> {
    let list = list_in(&member, &query)?;
    let mut page = NewApiKeyPage::new(&member, list, member.console.new_idempotency_key());
    page.text.name.focused = true;
    member.page(&page)
}

#[handler]
pub(crate) async fn submit(
    Sent(member, form, source): MemberForm,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let longest = member.member.organization.longest_key_life;
    let mut page = NewApiKeyPage {
        text: KeyTextForm::default().filled_in(&form)?,
        expiry: ExpiryForm::of_new_key(longest).filled_in(&form)?,
        has_errors: true,
        ..NewApiKeyPage::new(&member, list_in(&member, &query)?, form.idempotency_key()?)
    };
    let can_manage_keys = key_right::from_form_value(&form)?;
    page.can_manage_keys = can_manage_keys.unwrap_or(page.can_manage_keys);
    let (draft, expiry) = (page.text.draft(), page.expiry.change(member.now));
    let Some((draft, expiry)) = draft.zip(expiry) else {
        page.expiry.focus_error_after(&mut page.text);
        return Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page)?);
    };
    let draft = KeyDraft {
        can_manage_keys,
        expiry: expiry.and_then(ExpiryChange::expiry),
        ..draft
    };
    let keys = &member.console.keys;
    match keys
        .issue(&member.holder(), draft, Some(page.idempotency_key), source)
        .await
    {
        Ok(issued) => member.page(&IssuedApiKeyPage::new(&member, issued, None)),
        Err(AddKeyError::AlreadyCreated(key)) => {
            let message = Message::KeyAlreadyCreated.about(key.as_uuid());
            Ok(member.redirect(paths::ApiKeys(member.slug()), message))
        }
        Err(AddKeyError::LimitReached(limit)) => {
            page.limit_reached = Some(limit);
            Ok(html(StatusCode::CONFLICT, &page)?)
        }
        Err(AddKeyError::Throttled(throttled)) => {
            page.rate_limited = Some(throttled.into());
            too_many(&page, throttled)
        }
        Err(AddKeyError::InvalidExpiry(error)) => {
            page.expiry.refuse(error);
            page.expiry.focus_error_after(&mut page.text);
            Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page)?)
        }
        Err(error) => Err(error.into()),
    }
}

impl NewApiKeyPage {
    fn new(member: &Member, list: List<ApiKeyId>, idempotency_key: IdempotencyKey) -> Self {
        Self {
            settings: Settings::new(member, Section::ApiKeys),
            list,
            idempotency_key,
            text: KeyTextForm::default(),
            expiry: ExpiryForm::of_new_key(member.member.organization.longest_key_life),
            can_manage_keys: member.member.organization.new_keys_manage_keys,
            limit_reached: None,
            rate_limited: None,
            has_errors: false,
        }
    }
}

//! The form that edits a key. It carries the key's version, so that it does not overwrite a later change.

use std::slice;

use askama::Template;
use chrono::{DateTime, Utc};
use keyward_domain::api_key::{ApiKey, InvalidKeyVersion, KeyEdit, KeyPrecondition, KeyVersion, Revocation};
use keyward_domain::audit::Actor;
use keyward_domain::id::ApiKeyId;
use keyward_domain::ports::EditKeyError;
use poem::http::StatusCode;
use poem::{Response, handler};

use crate::answer::html;
use crate::flash::Message;
use crate::forms::{MemberForm, Query, Sent};
use crate::pages::api_keys::list_in;
use crate::pages::api_keys::others::{Creator, Others};
use crate::pages::expiry::{ExpiryForm, Unacceptable};
use crate::pages::filters;
use crate::pages::key_text::KeyTextForm;
use crate::pages::list::List;
use crate::pages::settings::{Section, Settings};
use crate::pages::successor::live_successor;
use crate::pages::waiting::too_many;
use crate::path_id::PathId;
use crate::reader::Member;
use crate::refusal::Refusal;
use crate::wait::Wait;

#[derive(Template)]
#[template(path = "edit_api_key.html")]
struct EditApiKeyPage {
    settings: Settings,
    /// The list that the page leads back to, as its own URL names it.
    list: List<ApiKeyId>,
    key: ApiKey,
    /// The key that created it, if one did.
    others: Others,
    /// Set for a key that has ended, which cannot be edited: the page then has no form.
    revoked: Option<Revocation>,
    /// It can be rotated: it has no valid successor.
    can_rotate: bool,
    /// The version of the key that the form was opened with.
    version: KeyVersion,
    /// The key's current text, if it was changed after the form was opened.
    changed: Option<KeyTextForm>,
    text: KeyTextForm,
    expiry: ExpiryForm,
    /// How long to wait, if the rate limit for changing keys is exceeded.
    rate_limited: Option<Wait>,
    has_errors: bool,
}

#[handler]
pub(crate) async fn show(
    member: Member,
    PathId(id): PathId<ApiKeyId>,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let list = list_in(&member, &query)?;
    let key = member.console.keys.read(&member.holder(), id).await?;
    let live_successor = live_successor(&key, &member, member.now).await?;
    let others = Others::beside(slice::from_ref(&key), &member).await?;
    let mut page = EditApiKeyPage::new(&member, list, key, others, live_successor, member.now);
    page.text.name.focused = true;
    member.page(&page)
}

#[handler]
pub(crate) async fn submit(
    Sent(member, form, source): MemberForm,
    PathId(id): PathId<ApiKeyId>,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let (keys, holder) = (&member.console.keys, member.holder());
    let list = list_in(&member, &query)?;
    let version = KeyVersion::parse(form.required("version")?)
        .map_err(|InvalidKeyVersion| Refusal::BadForm("A hidden field of the form is invalid."))?;
    let key = keys.read(&holder, id).await?;
    let successor = live_successor(&key, &member, member.now).await?;
    let others = Others::beside(slice::from_ref(&key), &member).await?;
    let page = EditApiKeyPage::new(&member, list, key, others, successor, member.now);
    let mut page = EditApiKeyPage {
        version,
        text: page.text.filled_in(&form)?,
        expiry: page.expiry.filled_in(&form)?,
        ..page
    };
    if page.revoked.is_some() {
        return Ok(html(StatusCode::CONFLICT, &page)?);
    }
    page.has_errors = true;
    let (edit, expiry) = (page.text.edit(), page.expiry.change(member.now));
    let Some((edit, expiry)) = edit.zip(expiry) else {
        page.expiry.focus_error_after(&mut page.text);
        return Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page)?);
    };
    let edit = KeyEdit { expiry, ..edit };
    let precondition = KeyPrecondition::OneOf(vec![version]);
    match keys.edit(&holder, id, edit.clone(), precondition, source).await {
        Ok(_) => {}
        Err(EditKeyError::Throttled(throttled)) => {
            page.rate_limited = Some(throttled.into());
            return too_many(&page, throttled);
        }
        // The key was changed or revoked concurrently.
        Err(EditKeyError::Revoked | EditKeyError::PreconditionFailed) => {
            let key = keys.read(&holder, id).await?;
            // The key may have been revoked after the form was read, so the time is read again.
            let now = member.console.now();
            let by = Actor::User(member.member.user.id);
            let longest = member.member.organization.longest_key_life;
            let successor = live_successor(&key, &member, now).await?;
            let is_saved =
                key.is_valid(now) && key.clone().apply(&edit, successor, longest, by) == Ok(vec![]);
            // If it is saved already, the form was sent twice, or the same change was made elsewhere.
            if !is_saved {
                let (list, others) = (
                    page.list.clone(),
                    Others::beside(slice::from_ref(&key), &member).await?,
                );
                let current = EditApiKeyPage::new(&member, list, key, others, successor, now);
                let page = current.with_input_of(page);
                return Ok(html(StatusCode::CONFLICT, &page)?);
            }
        }
        Err(EditKeyError::InvalidExpiry(error)) => return page.refuse_expiry(error),
        Err(EditKeyError::CannotExtendLife(error)) => return page.refuse_expiry(error),
        Err(error) => return Err(error.into()),
    }
    let message = Message::KeyEdited.about(id.as_uuid());
    Ok(member.redirect(page.list.url(), message))
}

impl EditApiKeyPage {
    fn new(
        member: &Member,
        list: List<ApiKeyId>,
        key: ApiKey,
        others: Others,
        live_successor: Option<ApiKeyId>,
        now: DateTime<Utc>,
    ) -> Self {
        let longest = member.member.organization.longest_key_life;
        Self {
            settings: Settings::new(member, Section::ApiKeys),
            list,
            others,
            revoked: key.revoked(now).cloned(),
            can_rotate: live_successor.is_none(),
            version: key.version(),
            changed: None,
            text: KeyTextForm::of(&key),
            expiry: ExpiryForm::of(key.expires_at(now))
                .with_latest(key.latest_planned_end(live_successor, longest), now),
            rate_limited: None,
            has_errors: false,
            key,
        }
    }

    fn refuse_expiry(mut self, error: impl Into<Unacceptable>) -> Result<Response, Refusal> {
        self.expiry.refuse(error);
        self.expiry.focus_error_after(&mut self.text);
        Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &self)?)
    }

    /// Combines the current key with the submitted text. Submitting the page again overwrites the version that it
    /// shows.
    fn with_input_of(self, typed: Self) -> Self {
        Self {
            changed: Some(self.text),
            text: typed.text,
            expiry: typed.expiry.typed_into(self.expiry),
            ..self
        }
    }
}

//! The form that renames a key, or describes it anew. It carries the version of the key that it began with, so that nobody
//! overwrites a change that they have not seen.

use std::sync::Arc;

use askama::Template;
use chrono::{DateTime, Utc};
use keyward_domain::api_key::{ApiKey, InvalidKeyVersion, KeyPrecondition, KeyVersion};
use keyward_domain::id::ApiKeyId;
use keyward_domain::keys::ReadKeyError;
use keyward_domain::ports::EditKeyError;
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::{Fields, Form};
use crate::pages::api_keys::after_edit;
use crate::pages::key_words::KeyWordsForm;
use crate::pages::moment::Moment;
use crate::pages::settings::{Section, Settings};
use crate::pages::waiting::{Wait, too_many};
use crate::pages::{html, redirect};
use crate::path_id::PathId;
use crate::refusal::Refusal;
use crate::request_source::Source;
use crate::viewer::Insider;
use crate::{Console, links};

#[derive(Template)]
#[template(path = "edit_api_key.html")]
struct EditApiKeyPage {
    settings: Settings,
    list: String,
    address: String,
    /// What the key is called now.
    key_name: String,
    hint: String,
    can_manage_keys: bool,
    /// A revoked key stays as it was: there is no form then.
    revoked: Option<Moment>,
    /// The version of the key that whoever fills in the form has seen.
    version: KeyVersion,
    /// What is said of the key now, if somebody else changed it since the form was opened, or the same person in another tab.
    changed: Option<KeyWordsForm>,
    words: KeyWordsForm,
    /// How long to wait, if the holder and their keys changed keys too often.
    too_often: Option<Wait>,
    has_errors: bool,
}

#[handler]
pub(crate) async fn show(
    Data(console): Data<&Arc<Console>>,
    insider: Insider,
    PathId(id): PathId<ApiKeyId>,
) -> Result<Response, Refusal> {
    let key = read(console, &insider, id).await?;
    let mut page = EditApiKeyPage::new(&insider, &key, insider.now);
    page.words.name.focused = true;
    html(StatusCode::OK, &page)
}

#[handler]
pub(crate) async fn submit(
    Data(console): Data<&Arc<Console>>,
    PathId(id): PathId<ApiKeyId>,
    Source(source): Source,
    Form(form): Form,
    // After the form, which may be long on its way: who sends it must still be signed in when it is here.
    insider: Insider,
) -> Result<Response, Refusal> {
    let key = read(console, &insider, id).await?;
    let mut page = EditApiKeyPage::new(&insider, &key, insider.now).filled_in(&form)?;
    if !key.is_valid(insider.now) {
        return html(StatusCode::CONFLICT, &page);
    }
    let Some(edit) = page.words.edit() else {
        page.has_errors = true;
        return html(StatusCode::UNPROCESSABLE_ENTITY, &page);
    };
    let holder = insider.member.as_holder();
    let precondition = KeyPrecondition::OneOf(vec![page.version]);
    let edited = console
        .keys
        .edit(&holder, id, edit.clone(), precondition, source)
        .await;
    let is_saved = || redirect(&after_edit(&insider.member.organization.slug, id));
    match edited {
        Ok(_) => Ok(is_saved()),
        Err(EditKeyError::Throttled(throttled)) => {
            page.too_often = Some(throttled.into());
            page.has_errors = true;
            too_many(&page, throttled)
        }
        // Just now.
        Err(EditKeyError::Revoked | EditKeyError::PreconditionFailed) => {
            // The end that was in the way may have come after the form.
            let now = console.now();
            let key = read(console, &insider, id).await?;
            if key.is_valid(now) && !key.clone().apply(&edit) {
                // The same form was sent twice, or somebody else wanted the same.
                return Ok(is_saved());
            }
            let page = EditApiKeyPage::new(&insider, &key, now).instead_of(page);
            html(StatusCode::CONFLICT, &page)
        }
        Err(EditKeyError::HolderGone | EditKeyError::NotFound) => Err(Refusal::NotFound),
        Err(EditKeyError::Storage(error)) => Err(error.into()),
    }
}

async fn read(console: &Console, insider: &Insider, id: ApiKeyId) -> Result<ApiKey, Refusal> {
    match console.keys.read(&insider.member.as_holder(), id).await {
        Ok(key) => Ok(key),
        Err(ReadKeyError::NotFound) => Err(Refusal::NotFound),
        Err(ReadKeyError::Storage(error)) => Err(error.into()),
    }
}

impl EditApiKeyPage {
    fn new(insider: &Insider, key: &ApiKey, now: DateTime<Utc>) -> Self {
        let slug = &insider.member.organization.slug;
        Self {
            settings: Settings::new(insider, Section::ApiKeys),
            list: links::api_keys(slug),
            address: links::edit_api_key(slug, key.id),
            key_name: key.name.to_string(),
            hint: key.hint.to_string(),
            can_manage_keys: key.can_manage_keys,
            revoked: key.revoked(now).map(|revocation| Moment(revocation.end.at())),
            version: key.version(),
            changed: None,
            words: KeyWordsForm::of(key),
            too_often: None,
            has_errors: false,
        }
    }

    fn filled_in(self, form: &Fields) -> Result<Self, Refusal> {
        let version = KeyVersion::parse(form.required("version")?)
            .map_err(|InvalidKeyVersion| Refusal::BadForm("A hidden field of the form is invalid."))?;
        Ok(Self {
            version,
            words: KeyWordsForm::filled_in(form)?,
            ..self
        })
    }

    /// The key as it is now, with what was typed before it was known: sent again, the form overwrites what it now shows.
    fn instead_of(self, typed: Self) -> Self {
        Self {
            changed: Some(self.words),
            words: typed.words,
            ..self
        }
    }
}

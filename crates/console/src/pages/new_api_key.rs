//! The form that creates a key.

use std::sync::Arc;

use askama::Template;
use keyward_domain::keys::{AddKeyError, FormNonce, KeyDraft};
use keyward_domain::ports::KeyLimit;
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::{Fields, Form};
use crate::pages::api_keys::after_repeated_form;
use crate::pages::issued_api_key::IssuedApiKeyPage;
use crate::pages::key_right;
use crate::pages::key_words::KeyWordsForm;
use crate::pages::settings::{Section, Settings};
use crate::pages::waiting::{Wait, too_many};
use crate::pages::{html, redirect};
use crate::refusal::Refusal;
use crate::request_source::Source;
use crate::viewer::Insider;
use crate::{Console, links};

#[derive(Template)]
#[template(path = "new_api_key.html")]
struct NewApiKeyPage {
    settings: Settings,
    list: String,
    nonce: FormNonce,
    words: KeyWordsForm,
    /// What is chosen; at first, what the organization has chosen for new keys.
    can_manage_keys: bool,
    /// The holder has as many valid keys as they may.
    limit_reached: Option<KeyLimit>,
    /// How long to wait, if the holder and their keys changed keys too often.
    too_often: Option<Wait>,
    has_errors: bool,
}

#[handler]
pub(crate) async fn show(Data(console): Data<&Arc<Console>>, insider: Insider) -> Result<Response, Refusal> {
    let mut page = NewApiKeyPage::new(&insider, console.keys.form_nonce());
    page.words.name.focused = true;
    html(StatusCode::OK, &page)
}

#[handler]
pub(crate) async fn submit(
    Data(console): Data<&Arc<Console>>,
    Source(source): Source,
    Form(form): Form,
    // After the form, which may be long on its way: who sends it must still be signed in when it is here.
    insider: Insider,
) -> Result<Response, Refusal> {
    let nonce = FormNonce::parse(form.required("nonce")?)
        .map_err(|_| Refusal::BadForm("A hidden field of the form is invalid."))?;
    let mut page = NewApiKeyPage::filled_in(&insider, nonce, &form)?;
    let can_manage_keys = key_right::chosen_in(&form)?;
    let Some(draft) = page.words.draft() else {
        page.has_errors = true;
        return html(StatusCode::UNPROCESSABLE_ENTITY, &page);
    };
    let draft = KeyDraft {
        can_manage_keys,
        ..draft
    };
    let holder = insider.member.as_holder();
    match console.keys.issue(&holder, draft, Some(nonce), source).await {
        Ok(issued) => {
            let page = IssuedApiKeyPage::new(&insider, &issued, &console.public_url);
            html(StatusCode::OK, &page)
        }
        Err(AddKeyError::AlreadyCreated(key)) => Ok(redirect(&after_repeated_form(
            &insider.member.organization.slug,
            key,
        ))),
        Err(AddKeyError::LimitReached(limit)) => {
            page.limit_reached = Some(limit);
            page.has_errors = true;
            html(StatusCode::CONFLICT, &page)
        }
        Err(AddKeyError::Throttled(throttled)) => {
            page.too_often = Some(throttled.into());
            page.has_errors = true;
            too_many(&page, throttled)
        }
        // Both end only what a key creates: a person may always manage their keys, and begins each line of keys.
        Err(AddKeyError::HolderGone | AddKeyError::MayNotManageKeys | AddKeyError::TreeTooDeep) => {
            Err(Refusal::NotFound)
        }
        Err(AddKeyError::Storage(error)) => Err(error.into()),
    }
}

impl NewApiKeyPage {
    fn new(insider: &Insider, nonce: FormNonce) -> Self {
        Self {
            settings: Settings::new(insider, Section::ApiKeys),
            list: links::api_keys(&insider.member.organization.slug),
            nonce,
            words: KeyWordsForm::default(),
            can_manage_keys: insider.member.organization.new_keys_manage_keys,
            limit_reached: None,
            too_often: None,
            has_errors: false,
        }
    }

    fn filled_in(insider: &Insider, nonce: FormNonce, form: &Fields) -> Result<Self, Refusal> {
        let page = Self::new(insider, nonce);
        Ok(Self {
            can_manage_keys: key_right::chosen_in(form)?.unwrap_or(page.can_manage_keys),
            words: KeyWordsForm::filled_in(form)?,
            ..page
        })
    }
}

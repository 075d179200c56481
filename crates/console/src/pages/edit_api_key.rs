//! The form that renames a key, or describes it anew. It carries the version of the key that it began with, so that nobody
//! overwrites a change that they have not seen.

use askama::Template;
use chrono::{DateTime, Utc};
use keyward_domain::api_key::{ApiKey, InvalidKeyVersion, KeyPrecondition, KeyVersion};
use keyward_domain::id::ApiKeyId;
use keyward_domain::ports::EditKeyError;
use poem::http::StatusCode;
use poem::{Response, handler};

use crate::answer::html;
use crate::flash::Message;
use crate::forms::{MemberForm, Sent};
use crate::pages::filters;
use crate::pages::key_words::KeyWordsForm;
use crate::pages::settings::{Section, Settings};
use crate::pages::waiting::{Wait, too_many};
use crate::path_id::PathId;
use crate::paths;
use crate::reader::Member;
use crate::refusal::Refusal;

#[derive(Template)]
#[template(path = "edit_api_key.html")]
struct EditApiKeyPage {
    settings: Settings,
    key: ApiKey,
    /// A revoked key stays as it was: there is no form then.
    revoked: Option<DateTime<Utc>>,
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
pub(crate) async fn show(member: Member, PathId(id): PathId<ApiKeyId>) -> Result<Response, Refusal> {
    let key = member.console.keys.read(&member.holder(), id).await?;
    let mut page = EditApiKeyPage::new(&member, key, member.now);
    page.words.name.focused = true;
    member.page(&page)
}

#[handler]
pub(crate) async fn submit(
    Sent {
        sender: member,
        form,
        source,
    }: MemberForm,
    PathId(id): PathId<ApiKeyId>,
) -> Result<Response, Refusal> {
    let (keys, holder) = (&member.console.keys, member.holder());
    let version = KeyVersion::parse(form.required("version")?)
        .map_err(|InvalidKeyVersion| Refusal::BadForm("A hidden field of the form is invalid."))?;
    let mut page = EditApiKeyPage {
        version,
        words: KeyWordsForm::filled_in(&form)?,
        ..EditApiKeyPage::new(&member, keys.read(&holder, id).await?, member.now)
    };
    if page.revoked.is_some() {
        return Ok(html(StatusCode::CONFLICT, &page)?);
    }
    page.has_errors = true;
    let Some(edit) = page.words.edit() else {
        return Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page)?);
    };
    let precondition = KeyPrecondition::OneOf(vec![version]);
    match keys.edit(&holder, id, edit.clone(), precondition, source).await {
        Ok(_) => {}
        Err(EditKeyError::Throttled(throttled)) => {
            page.too_often = Some(throttled.into());
            return too_many(&page, throttled);
        }
        // Just now.
        Err(EditKeyError::Revoked | EditKeyError::PreconditionFailed) => {
            let key = keys.read(&holder, id).await?;
            // The end that was in the way may have come after the form.
            let now = member.console.now();
            let is_saved = key.is_valid(now) && !key.clone().apply(&edit);
            // Else the same form was sent twice, or somebody else wanted the same.
            if !is_saved {
                let page = EditApiKeyPage::new(&member, key, now).instead_of(page);
                return Ok(html(StatusCode::CONFLICT, &page)?);
            }
        }
        Err(error) => return Err(error.into()),
    }
    let message = Message::KeyEdited.about(id.as_uuid());
    Ok(member.lead_on(paths::ApiKeys(member.slug()), message))
}

impl EditApiKeyPage {
    fn new(member: &Member, key: ApiKey, now: DateTime<Utc>) -> Self {
        Self {
            settings: Settings::new(member, Section::ApiKeys),
            revoked: key.revoked(now).map(|revocation| revocation.end.at()),
            version: key.version(),
            changed: None,
            words: KeyWordsForm::of(&key),
            too_often: None,
            has_errors: false,
            key,
        }
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

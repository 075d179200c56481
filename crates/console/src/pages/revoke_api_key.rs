//! The confirmation page for revoking a key. The script shows its form in a dialog on the list.

use askama::Template;
use keyward_domain::api_key::{ApiKey, KeyPrecondition, Revocation};
use keyward_domain::id::ApiKeyId;
use keyward_domain::ports::DescendantKeys;
use poem::http::StatusCode;
use poem::{Response, handler};

use crate::answer::html;
use crate::flash::Message;
use crate::forms::{MemberForm, Query, Sent};
use crate::pages::api_keys::list_in;
use crate::pages::filters;
use crate::pages::list::List;
use crate::pages::membership_end_preview::if_counted;
use crate::pages::settings::{Section, Settings};
use crate::path_id::PathId;
use crate::reader::Member;
use crate::refusal::Refusal;

#[derive(Template)]
#[template(path = "revoke_api_key.html")]
struct RevokeApiKeyPage {
    settings: Settings,
    /// The list that the page links back to, from the query of its URL.
    list: List<ApiKeyId>,
    key: ApiKey,
    revoked: Option<Revocation>,
    /// The valid descendants, if they could be counted.
    descendants: Option<Vec<ApiKey>>,
    /// The choice in a form that is shown again.
    revoke_descendants: bool,
    confirmation_missing: bool,
}

#[handler]
pub(crate) async fn show(
    member: Member,
    PathId(id): PathId<ApiKeyId>,
    Query(query): Query,
) -> Result<Response, Refusal> {
    member.page(&page(&member, id, list_in(&member, &query)?).await?)
}

#[handler]
pub(crate) async fn submit(
    Sent(member, form, source): MemberForm,
    PathId(id): PathId<ApiKeyId>,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let list = list_in(&member, &query)?;
    let descendants = form.descendants()?;
    if !form.is_confirmed() {
        let page = RevokeApiKeyPage {
            revoke_descendants: descendants == DescendantKeys::Revoke,
            confirmation_missing: true,
            ..page(&member, id, list).await?
        };
        return Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page)?);
    }
    // No precondition: a thief who keeps renaming keys must not prevent their revocation.
    let any = KeyPrecondition::AnyVersion;
    let keys = &member.console.keys;
    let revoked = keys
        .revoke(&member.holder(), id, descendants, any, source)
        .await?;
    let others = revoked.iter().filter(|revoked| **revoked != id).count();
    let message = Message::KeyRevoked.about(id.as_uuid());
    Ok(member.redirect(list.url(), message.and_others(others)))
}

async fn page(member: &Member, id: ApiKeyId, list: List<ApiKeyId>) -> Result<RevokeApiKeyPage, Refusal> {
    let (keys, holder) = (&member.console.keys, member.holder());
    let key = keys.read(&holder, id).await?;
    Ok(RevokeApiKeyPage {
        settings: Settings::new(member, Section::ApiKeys),
        list,
        revoked: key.revoked(member.now).cloned(),
        key,
        descendants: if_counted(keys.valid_descendants(&holder, id, member.now).await),
        revoke_descendants: false,
        confirmation_missing: false,
    })
}

impl RevokeApiKeyPage {
    fn has_no_descendants(&self) -> bool {
        self.descendants.as_ref().is_some_and(Vec::is_empty)
    }

    fn button_label(&self) -> &'static str {
        match (&self.revoked, &self.descendants) {
            (None, _) => "Revoke key",
            (Some(_), Some(descendants)) if descendants.len() == 1 => "Revoke this key",
            (Some(_), _) => "Revoke these keys",
        }
    }
}

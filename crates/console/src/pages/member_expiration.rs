//! The form that plans when a membership ends.

use askama::Template;
use keyward_domain::administration::ports::{ChangeMembershipExpiryError, MemberProfile};
use keyward_domain::api_key::Expiry;
use keyward_domain::id::MembershipId;
use poem::http::StatusCode;
use poem::{Response, handler};

use crate::answer::{html, redirect};
use crate::flash::Message;
use crate::forms::{OwnerForm, Sent};
use crate::pages::expiry::ExpiryForm;
use crate::pages::filters;
use crate::pages::member::{identify, last_owner_stays};
use crate::pages::settings::{Section, Settings};
use crate::path_id::PathId;
use crate::paths;
use crate::reader::Owner;
use crate::refusal::Refusal;

#[derive(Template)]
#[template(path = "member_expiration.html")]
struct MemberExpirationPage {
    settings: Settings,
    member: MemberProfile,
    expiry: ExpiryForm,
    /// The planned end that the form was opened with.
    seen: String,
    /// It was changed since.
    is_outdated: bool,
}

#[handler]
pub(crate) async fn show(owner: Owner, PathId(id): PathId<MembershipId>) -> Result<Response, Refusal> {
    let member = identify(&owner, id).await?;
    // Their page says why not.
    if owner.console.members.is_last_owner(&member.membership).await? {
        return Ok(redirect(paths::Member(owner.slug(), &id)));
    }
    owner.page(&MemberExpirationPage::new(&owner, member))
}

#[handler]
pub(crate) async fn submit(
    Sent(owner, form, source): OwnerForm,
    PathId(id): PathId<MembershipId>,
) -> Result<Response, Refusal> {
    let member = match identify(&owner, id).await {
        Ok(member) => member,
        Err(refused) => {
            // A planned end may have come before the answer to the form that planned it, which may still be waiting.
            if let Refusal::NotFound = refused {
                owner.console.members.gone_everywhere().await;
            }
            return Err(refused);
        }
    };
    let page = MemberExpirationPage::new(&owner, member);
    let now = page.seen;
    let mut page = MemberExpirationPage {
        expiry: page.expiry.filled_in(&form)?,
        seen: form.seen(&now),
        ..page
    };
    let Some(change) = page.expiry.change(owner.now) else {
        return page.refused();
    };
    let wanted = change.map_or(page.expiry.current, |change| change.expiry().map(Expiry::at));
    let changes_nothing = change.is_some() && wanted == page.expiry.current;
    if page.seen != now && !changes_nothing {
        page.is_outdated = true;
        page.seen = now;
        return Ok(html(StatusCode::CONFLICT, &page)?);
    }
    let members = &owner.console.members;
    if let Some(change) = change {
        match members.change_expiry(&owner.authority, id, change, source).await {
            Ok(()) => {}
            Err(ChangeMembershipExpiryError::LastOwner) => return last_owner_stays(&owner, id).await,
            Err(ChangeMembershipExpiryError::InvalidExpiry(error)) => {
                page.expiry.refuse(error);
                return page.refused();
            }
            Err(error) => return Err(error.into()),
        }
    }
    let message = Message::MemberExpirationChanged.about(id.as_uuid());
    Ok(owner.redirect(paths::Member(owner.slug(), &id), message))
}

impl MemberExpirationPage {
    fn new(owner: &Owner, member: MemberProfile) -> Self {
        let expiry = ExpiryForm::of(member.membership.expires_at(owner.now));
        Self {
            settings: Settings::new(owner, Section::Members),
            seen: expiry.current_text(),
            expiry,
            member,
            is_outdated: false,
        }
    }

    fn refused(mut self) -> Result<Response, Refusal> {
        self.expiry.focus_error();
        Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &self)?)
    }
}

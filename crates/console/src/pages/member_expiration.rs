//! The form that plans when a membership ends.

use askama::Template;
use keyward_domain::administration::ports::{ChangeMembershipExpiryError, HolderProfile};
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
    member: HolderProfile,
    expiry: ExpiryForm,
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
    let expiry = page.expiry.filled_in(&form)?;
    let mut page = MemberExpirationPage { expiry, ..page };
    let Some(change) = page.expiry.change(owner.now) else {
        return page.refused();
    };
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
    fn new(owner: &Owner, member: HolderProfile) -> Self {
        Self {
            settings: Settings::new(owner, Section::Members),
            expiry: ExpiryForm::of(member.membership.expires_at(owner.now)),
            member,
        }
    }

    fn refused(mut self) -> Result<Response, Refusal> {
        self.expiry.at.focused = true;
        Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &self)?)
    }
}

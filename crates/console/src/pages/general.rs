//! Organization Settings → General: what the organization is called and has chosen for new keys, who the viewer is there,
//! and the way out.

use askama::Template;
use keyward_domain::membership;
use poem::{Response, handler};

use crate::flash::Message;
use crate::forms::{OwnerForm, Sent};
use crate::pages::notice::Notice;
use crate::pages::settings::{Section, Settings};
use crate::pages::{filters, key_right};
use crate::paths;
use crate::reader::Member;
use crate::refusal::Refusal;

#[derive(Template)]
#[template(path = "general.html")]
struct GeneralPage<'a> {
    settings: Settings,
    notice: Option<Notice>,
    member: &'a membership::Member,
    /// They choose what holds for new keys.
    is_owner: bool,
    /// Nobody else runs the organization, so the viewer cannot leave.
    is_last_owner: bool,
}

#[handler]
pub(crate) async fn show(member: Member) -> Result<Response, Refusal> {
    let membership = &member.member.membership;
    member.page(&GeneralPage {
        settings: Settings::new(&member, Section::General),
        notice: Notice::for_member(&member).await?,
        member: &member.member,
        is_owner: member.authority().is_some(),
        is_last_owner: member.console.members.is_last_owner(membership).await?,
    })
}

#[handler]
pub(crate) async fn choose_for_new_keys(Sent(owner, form, source): OwnerForm) -> Result<Response, Refusal> {
    let chosen = key_right::choice(&form)?.ok_or(Refusal::BadForm("A field of the form is missing."))?;
    let organizations = &owner.console.organizations;
    organizations
        .choose_for_new_keys(&owner.authority, chosen, source)
        .await?;
    Ok(owner.lead_on(paths::General(owner.slug()), Message::DefaultForNewKeysChosen))
}

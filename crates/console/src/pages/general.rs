//! Organization Settings → General: the organization's name, its defaults for new keys, the viewer's role, and leaving the
//! organization.

use askama::Template;
use chrono::{DateTime, Utc};
use keyward_domain::api_key::{InvalidLongestLife, LongestLife};
use keyward_domain::membership;
use keyward_domain::organization::Organization;
use poem::http::StatusCode;
use poem::{Response, handler};

use crate::answer::html;
use crate::flash::Message;
use crate::forms::{OwnerForm, Sent};
use crate::pages::field::Field;
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
    /// The planned end of the membership.
    expires_at: Option<DateTime<Utc>>,
    /// Owners set the defaults of new keys.
    is_owner: bool,
    /// The viewer is the last permanent owner, who cannot leave.
    is_last_owner: bool,
    /// Whether new keys can manage keys by default.
    manage_keys: bool,
    /// The maximum lifetime of new keys, in days.
    days: Field,
    /// The lifetime that the form showed when it was opened.
    days_shown: String,
    /// The setting that was changed after its form was opened.
    outdated: Option<Setting>,
}

#[derive(PartialEq, Eq)]
enum Setting {
    NewKeys,
    KeyLife,
}

impl<'a> GeneralPage<'a> {
    async fn new(member: &'a Member) -> Result<Self, Refusal> {
        let membership = &member.member.membership;
        let organization = &member.member.organization;
        let days = days_of(organization);
        Ok(Self {
            settings: Settings::new(member, Section::General),
            notice: Notice::for_member(member).await?,
            expires_at: member.member.membership.expires_at(member.now),
            member: &member.member,
            is_owner: member.authority().is_some(),
            is_last_owner: member.console.members.is_last_owner(membership).await?,
            manage_keys: organization.new_keys_manage_keys,
            days: Field::with_value(&days),
            days_shown: days,
            outdated: None,
        })
    }
}

fn days_of(organization: &Organization) -> String {
    let longest = organization.longest_key_life;
    longest
        .map(|longest| longest.days().to_string())
        .unwrap_or_default()
}

#[handler]
pub(crate) async fn show(member: Member) -> Result<Response, Refusal> {
    let page = GeneralPage::new(&member).await?;
    member.page(&page)
}

#[handler]
pub(crate) async fn set_default_for_new_keys(
    Sent(owner, form, source): OwnerForm,
) -> Result<Response, Refusal> {
    let chosen =
        key_right::from_form_value(&form)?.ok_or(Refusal::BadForm("A field of the form is missing."))?;
    let now = owner.member.organization.new_keys_manage_keys;
    if form.seen(key_right::form_value(now)) != key_right::form_value(now) && chosen != now {
        let page = GeneralPage {
            manage_keys: chosen,
            outdated: Some(Setting::NewKeys),
            ..GeneralPage::new(&owner).await?
        };
        return Ok(html(StatusCode::CONFLICT, &page)?);
    }
    let organizations = &owner.console.organizations;
    organizations
        .set_default_for_new_keys(&owner.authority, chosen, source)
        .await?;
    Ok(owner.redirect(paths::General(owner.slug()), Message::DefaultForNewKeysChosen))
}

/// An empty field is no limit.
#[handler]
pub(crate) async fn limit_key_life(Sent(owner, form, source): OwnerForm) -> Result<Response, Refusal> {
    let mut days = Field::with_value(form.required("days")?.trim());
    let parsed = match days.value.as_str() {
        "" => Ok(None),
        text => text
            .parse()
            .map_err(|_| InvalidLongestLife)
            .and_then(LongestLife::of_days)
            .map(Some),
    };
    let Some(longest) = days.check("The maximum lifetime", parsed) else {
        days.focused = true;
        let page = GeneralPage::new(&owner).await?;
        let page = GeneralPage {
            days,
            days_shown: form.seen(&page.days_shown),
            ..page
        };
        return Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page)?);
    };
    // An unchanged form must not count against the limit of ten changes.
    if longest != owner.member.organization.longest_key_life {
        let now = days_of(&owner.member.organization);
        if form.seen(&now) != now {
            let page = GeneralPage {
                days,
                outdated: Some(Setting::KeyLife),
                ..GeneralPage::new(&owner).await?
            };
            return Ok(html(StatusCode::CONFLICT, &page)?);
        }
        let organizations = &owner.console.organizations;
        organizations
            .limit_key_life(&owner.authority, longest, source)
            .await?;
    }
    Ok(owner.redirect(paths::General(owner.slug()), Message::KeyLifeLimited))
}

//! The notice on a page about what the last form did.

use askama::Template;
use keyward_domain::audit::Subject;
use keyward_domain::id::{ApiKeyId, MembershipId, ProjectId};
use keyward_domain::keys::ReadKeyError;
use keyward_domain::organization::Organization;
use uuid::Uuid;

use crate::flash::{Audience, Flash, Message};
use crate::reader::{Member, Owner, Visit};
use crate::refusal::Refusal;

/// A message with the current names of its subjects.
#[derive(Template)]
#[template(path = "notice.html")]
pub(super) struct Notice {
    pub(super) message: Message,
    /// The name of the key, member or project.
    pub(super) name: String,
    /// The hint of the key's token.
    hint: String,
    others: u32,
    organization: Option<Organization>,
    /// The URL of the page on which an undone action can be repeated.
    pub(super) again: String,
}

impl Notice {
    /// For pages outside of an organization.
    pub(super) fn at(audience: Audience, visit: &Visit) -> Option<Self> {
        let flash = visit.flash.filter(|flash| flash.message.appears_on(audience))?;
        Some(Self::new(flash, None))
    }

    /// For the pages of an organization that all its members see.
    pub(super) async fn for_member(member: &Member) -> Result<Option<Self>, Refusal> {
        let Some(flash) = member
            .flash
            .filter(|flash| flash.message.appears_on(Audience::Member))
        else {
            return Ok(None);
        };
        let mut notice = Self::new(flash, Some(&member.member.organization));
        if let Some(id) = flash.about.map(ApiKeyId::from_uuid) {
            match member.console.keys.read(&member.holder(), id).await {
                Ok(key) => (notice.name, notice.hint) = (key.name.to_string(), key.hint.to_string()),
                Err(ReadKeyError::NotFound) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Some(notice))
    }

    /// For the pages that only owners see.
    pub(super) async fn for_owner(owner: &Owner) -> Result<Option<Self>, Refusal> {
        let Some(flash) = owner
            .flash
            .filter(|flash| flash.message.appears_on(Audience::Owner))
        else {
            return Self::for_member(owner).await;
        };
        let mut notice = Self::new(flash, Some(&owner.member.organization));
        if let Some(subject) = flash.about.map(|id| subject(flash.message, id)) {
            let organization = owner.authority.organization_id();
            let mut names = owner.console.names.find(organization, &[subject]).await?;
            let Some(name) = names.remove(&subject) else {
                return Ok(None);
            };
            notice.name = name;
        }
        Ok(Some(notice))
    }

    fn new(flash: Flash, organization: Option<&Organization>) -> Self {
        Self {
            message: flash.message,
            name: String::new(),
            hint: String::new(),
            others: flash.others,
            organization: organization.cloned(),
            again: String::new(),
        }
    }

    const fn tone(&self) -> &'static str {
        match self.message {
            Message::FormNotSent
            | Message::LinkDamaged
            | Message::InvitationUsed
            | Message::NothingSelected
            | Message::KeyLifeRemoved => "bad",
            Message::SessionOver
            | Message::SessionOverElsewhere
            | Message::TokenLeftOut
            | Message::KeyAlreadyCreated
            | Message::KeyAlreadyRotated
            | Message::NothingToRevoke
            | Message::InvitationAlreadyCreated
            | Message::ProjectAlreadyCreated => "info",
            _ => "good",
        }
    }
}

fn subject(message: Message, id: Uuid) -> Subject {
    match message {
        Message::MadeOwner
        | Message::MadeMember
        | Message::MemberExpirationChanged
        | Message::MemberRemoved
        | Message::ProjectMemberAdded
        | Message::ProjectMemberRemoved => Subject::Membership(MembershipId::from_uuid(id)),
        Message::KeysRevoked => Subject::ApiKey(ApiKeyId::from_uuid(id)),
        _ => Subject::Project(ProjectId::from_uuid(id)),
    }
}

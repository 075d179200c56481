//! What all pages of Organization Settings have around them.

use keyward_domain::membership::Role;

use crate::links;
use crate::viewer::Insider;

/// The frame around a page of Organization Settings: organization, side navigation and user menu.
pub(super) struct Settings {
    pub(super) organization: String,
    pub(super) username: String,
    pub(super) display_name: String,
    /// Where the viewer can switch to; empty if there is no other organization.
    pub(super) other_organizations: Vec<Link>,
    pub(super) sections: Vec<SectionLink>,
}

/// A page to go to.
pub(super) struct Link {
    pub(super) label: String,
    pub(super) address: String,
}

/// An entry of the side navigation.
pub(super) struct SectionLink {
    pub(super) label: &'static str,
    pub(super) address: String,
    pub(super) is_current: bool,
}

/// The sections of Organization Settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    General,
    Members,
    Projects,
    ApiKeys,
}

impl Settings {
    pub(super) fn new(insider: &Insider, current: Section) -> Self {
        let member = &insider.member;
        let slug = &member.organization.slug;
        let section = |section, label, address| SectionLink {
            label,
            address,
            is_current: section == current,
        };
        let is_owner = member.membership.role == Role::Owner;
        let sections = [
            Some(section(Section::General, "General", links::general(slug))),
            is_owner.then(|| section(Section::Members, "Members", links::members(slug))),
            Some(section(Section::Projects, "Projects", links::projects(slug))),
            Some(section(Section::ApiKeys, "API Keys", links::api_keys(slug))),
        ];
        let others = insider
            .organizations
            .iter()
            .filter(|organization| organization.id != member.organization.id);
        Self {
            organization: member.organization.name.to_string(),
            username: member.user.username.to_string(),
            display_name: member.user.display_name.to_string(),
            other_organizations: others
                .map(|organization| Link {
                    label: organization.name.to_string(),
                    address: links::api_keys(&organization.slug),
                })
                .collect(),
            sections: sections.into_iter().flatten().collect(),
        }
    }
}

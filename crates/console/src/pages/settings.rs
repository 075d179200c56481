//! What all pages of Organization Settings have around them.

use keyward_domain::membership::Role;

use crate::links;
use crate::pages::user_menu::UserMenu;
use crate::viewer::Insider;

/// The frame around a page of Organization Settings: organization, side navigation and user menu.
pub(super) struct Settings {
    pub(super) organization: String,
    pub(super) menu: UserMenu,
    pub(super) sections: Vec<SectionLink>,
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
    AuditLog,
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
            is_owner.then(|| section(Section::AuditLog, "Audit log", links::audit_log(slug))),
        ];
        let others = insider
            .organizations
            .iter()
            .filter(|organization| organization.id != member.organization.id);
        Self {
            organization: member.organization.name.to_string(),
            menu: UserMenu::new(&member.user, others),
            sections: sections.into_iter().flatten().collect(),
        }
    }
}

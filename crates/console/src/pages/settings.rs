//! The frame of all pages of Organization Settings.

use keyward_domain::membership::Role;
use keyward_domain::organization::Slug;

use crate::paths;
use crate::reader::Member;
use crate::user_menu::UserMenu;

/// The frame around a page of Organization Settings: organization, side navigation and user menu.
pub(super) struct Settings {
    pub(super) organization: String,
    pub(super) slug: Slug,
    pub(super) menu: UserMenu,
    pub(super) sections: Vec<SectionLink>,
}

/// An entry of the side navigation, or a tab.
pub(super) struct SectionLink {
    pub(super) label: &'static str,
    pub(super) url: String,
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
    pub(super) fn new(reader: &Member, current: Section) -> Self {
        let member = &reader.member;
        let slug = &member.organization.slug;
        let section = |section, label, url| SectionLink {
            label,
            url,
            is_current: section == current,
        };
        let is_owner = member.membership.role == Role::Owner;
        let sections = [
            Some(section(
                Section::General,
                "General",
                paths::General(slug).to_string(),
            )),
            is_owner.then(|| section(Section::Members, "Members", paths::Members(slug).to_string())),
            Some(section(
                Section::Projects,
                "Projects",
                paths::Projects(slug).to_string(),
            )),
            Some(section(
                Section::ApiKeys,
                "API Keys",
                paths::ApiKeys(slug).to_string(),
            )),
            is_owner.then(|| section(Section::AuditLog, "Audit log", paths::AuditLog(slug).to_string())),
        ];
        let others = reader.organizations.iter();
        let others = others.filter(|organization| organization.id != member.organization.id);
        Self {
            organization: member.organization.name.to_string(),
            slug: slug.clone(),
            menu: UserMenu::new(&member.user, others),
            sections: sections.into_iter().flatten().collect(),
        }
    }
}

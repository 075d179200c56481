//! Looks for what somebody typed among the names of members, keys and projects.

use keyward_domain::administration::ports::{
    MemberFilter, MemberOverview, OrganizationKeyFilter, ProjectFilter, ProjectStatus,
};
use keyward_domain::audit::Subject;
use keyward_domain::id::ApiKeyId;
use keyward_domain::page::{Page, PageRequest, PageSize};
use keyward_domain::ports::StatusFilter;
use keyward_domain::text::folded;

use crate::reader::Owner;
use crate::refusal::Refusal;

/// A possible match.
#[derive(Clone)]
pub(super) struct Candidate<T> {
    pub(super) value: T,
    pub(super) name: String,
    /// What tells it apart from others of its name.
    pub(super) detail: String,
    /// What was typed begins its name or username, so that people look for it first.
    pub(super) is_prefix: bool,
}

/// What of a list was found.
pub(super) struct Found<T> {
    pub(super) candidates: Vec<Candidate<T>>,
    /// There are no others.
    pub(super) is_complete: bool,
}

/// How a name has to match what was typed.
#[derive(Clone, Copy)]
pub(super) enum Match {
    Exact,
    Part,
}

/// More than can be suggested, so that those that begin with what was typed can come first.
const fn first_page<Id>() -> PageRequest<Id> {
    PageRequest::first(PageSize::DEFAULT)
}

pub(super) async fn members<T>(
    owner: &Owner,
    typed: &str,
    how: Match,
    value: fn(&MemberOverview) -> T,
) -> Result<Found<T>, Refusal> {
    let filter = match how {
        Match::Exact => MemberFilter::named(typed),
        Match::Part => MemberFilter::new(Some(typed)),
    };
    let members = &owner.console.members;
    let page = members
        .list(&owner.authority, filter, first_page(), owner.now)
        .await?;
    let term = folded(typed);
    Ok(Found::of(page, |member| {
        let name = member.user.display_name.to_string();
        Candidate {
            value: value(member),
            is_prefix: folded(&name).starts_with(&term) || member.user.username.as_str().starts_with(&term),
            name,
            detail: member.user.username.to_string(),
        }
    }))
}

pub(super) async fn keys<T>(
    owner: &Owner,
    typed: &str,
    how: Match,
    value: fn(ApiKeyId) -> T,
) -> Result<Found<T>, Refusal> {
    let filter = match how {
        Match::Exact => OrganizationKeyFilter::named(typed),
        Match::Part => OrganizationKeyFilter::new(StatusFilter::All, Some(typed)),
    };
    let keys = &owner.console.organization_keys;
    let page = keys
        .list(&owner.authority, filter, first_page(), owner.now)
        .await?;
    let term = folded(typed);
    Ok(Found::of(page, |key| {
        let name = key.name.to_string();
        Candidate {
            value: value(key.id),
            is_prefix: folded(&name).starts_with(&term),
            name,
            detail: format!("{} of {}", key.hint, key.holder.user.username),
        }
    }))
}

pub(super) async fn projects(owner: &Owner, typed: &str, how: Match) -> Result<Found<Subject>, Refusal> {
    let filter = match how {
        Match::Exact => ProjectFilter::named(typed),
        Match::Part => ProjectFilter::new(ProjectStatus::All, Some(typed)),
    };
    let projects = &owner.console.projects;
    let page = projects
        .list(&owner.authority, filter, first_page(), owner.now)
        .await?;
    let term = folded(typed);
    Ok(Found::of(page, |found| {
        let name = found.project.name.to_string();
        Candidate {
            value: Subject::Project(found.project.id),
            is_prefix: folded(&name).starts_with(&term),
            name,
            detail: "project".to_owned(),
        }
    }))
}

impl<T> Found<T> {
    fn of<Item, Id>(page: Page<Item, Id>, candidate: impl Fn(&Item) -> Candidate<T>) -> Self {
        Self {
            candidates: page.items.iter().map(candidate).collect(),
            is_complete: page.next.is_none(),
        }
    }

    pub(super) fn and(mut self, other: Self) -> Self {
        self.candidates.extend(other.candidates);
        Self {
            candidates: self.candidates,
            is_complete: self.is_complete && other.is_complete,
        }
    }
}

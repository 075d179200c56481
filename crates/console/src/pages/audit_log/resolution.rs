//! Resolves what somebody types into the filter to an actor or a subject.

use futures_util::future::{try_join, try_join3};
use keyward_domain::administration::ports::{
    HeldKey, MemberFilter, MemberOverview, OrganizationKeyFilter, ProjectFilter, ProjectOverview,
    ProjectStatus,
};
use keyward_domain::audit::{Actor, Subject};
use keyward_domain::id::{ApiKeyId, MembershipId, ProjectId};
use keyward_domain::page::{Page, PageRequest, PageSize};
use keyward_domain::ports::StatusFilter;
use keyward_domain::text::folded;
use keyward_domain::user::Username;

use crate::reader::Owner;
use crate::refusal::Refusal;

/// A filter by actor or subject.
#[derive(Clone)]
pub(super) enum Filter<T> {
    Any,
    One(T),
    /// The text matches nothing in this organization, or several subjects, or only parts of their names.
    Ambiguous {
        typed: String,
        candidates: Vec<Candidate<T>>,
        ambiguity: Ambiguity,
    },
}

/// Why a text is ambiguous.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ambiguity {
    /// No subject has exactly this name.
    NoExactMatch,
    /// Several subjects have exactly this name.
    SeveralMatches,
    /// More names are similar than can be suggested.
    TooManySimilar,
}

/// A possible match.
#[derive(Clone)]
pub(super) struct Candidate<T> {
    pub(super) value: T,
    pub(super) name: String,
    /// What tells it apart from others of its name.
    pub(super) detail: String,
    /// What was typed is all of its name.
    is_exact: bool,
    /// What was typed begins its name or username, so that people look for it first.
    is_prefix: bool,
}

/// The maximum number of suggestions.
const MAX_SUGGESTIONS: usize = 8;

/// A member or a key.
pub(super) async fn actor(owner: &Owner, typed: &str) -> Result<Filter<Actor>, Refusal> {
    if let Some(actor) = owner
        .console
        .audit_trail
        .find_actor(&owner.authority, typed)
        .await?
    {
        return Ok(Filter::One(actor));
    }
    let (people, keys) = try_join(members(owner, typed), keys(owner, typed)).await?;
    let is_complete = people.next.is_none() && keys.next.is_none();
    let term = folded(typed);
    let people = people.items.iter();
    let people = people.map(|member| of_member(member, Actor::User(member.user.id), &term));
    let keys = keys.items.iter();
    let keys = keys.map(|key| of_key(key, Actor::ApiKey(key.id), &term));
    Ok(resolve(typed, people.chain(keys).collect(), is_complete))
}

/// A member, a key or a project.
pub(super) async fn subject(owner: &Owner, typed: &str) -> Result<Filter<Subject>, Refusal> {
    if let Some(subject) = owner
        .console
        .audit_trail
        .find_subject(&owner.authority, typed)
        .await?
    {
        return Ok(Filter::One(subject));
    }
    // Usernames are unique.
    if let Ok(username) = Username::parse(typed)
        && let Some(member) = owner
            .console
            .members
            .find_by_username(&owner.authority, &username, owner.now)
            .await?
    {
        return Ok(Filter::One(Subject::Membership(member.membership.id)));
    }
    let (people, keys, projects) =
        try_join3(members(owner, typed), keys(owner, typed), projects(owner, typed)).await?;
    let is_complete = people.next.is_none() && keys.next.is_none() && projects.next.is_none();
    let term = folded(typed);
    let people = people.items.iter();
    let people = people.map(|member| {
        let value = Subject::Membership(member.membership.id);
        of_member(member, value, &term)
    });
    let keys = keys.items.iter();
    let keys = keys.map(|key| of_key(key, Subject::ApiKey(key.id), &term));
    let projects = projects.items.iter();
    let projects = projects.map(|found| of_project(found, Subject::Project(found.project.id), &term));
    let candidates = people.chain(projects).chain(keys).collect();
    Ok(resolve(typed, candidates, is_complete))
}

/// `is_complete`: these are all matches.
fn resolve<T: Copy>(typed: &str, candidates: Vec<Candidate<T>>, is_complete: bool) -> Filter<T> {
    let (exact, similar): (Vec<_>, Vec<_>) = candidates.into_iter().partition(|candidate| candidate.is_exact);
    let (mut candidates, ambiguity) = match (is_complete, exact.as_slice()) {
        (true, [only]) => return Filter::One(only.value),
        (true, []) => (similar, Ambiguity::NoExactMatch),
        (true, [..]) => (exact, Ambiguity::SeveralMatches),
        (false, _) => ([exact, similar].concat(), Ambiguity::TooManySimilar),
    };
    let ambiguity = if candidates.len() > MAX_SUGGESTIONS {
        Ambiguity::TooManySimilar
    } else {
        ambiguity
    };
    candidates.sort_by_key(|candidate| (!candidate.is_exact, !candidate.is_prefix));
    candidates.truncate(MAX_SUGGESTIONS);
    Filter::Ambiguous {
        typed: typed.to_owned(),
        candidates,
        ambiguity,
    }
}

const fn first_page<Id>() -> PageRequest<Id> {
    PageRequest::first(PageSize::EXPORT)
}

async fn members(owner: &Owner, typed: &str) -> Result<Page<MemberOverview, MembershipId>, Refusal> {
    let filter = MemberFilter::new(Some(typed));
    Ok(owner
        .console
        .members
        .list(&owner.authority, filter, first_page(), owner.now)
        .await?)
}

async fn keys(owner: &Owner, typed: &str) -> Result<Page<HeldKey, ApiKeyId>, Refusal> {
    let filter = OrganizationKeyFilter::new(StatusFilter::All, Some(typed));
    Ok(owner
        .console
        .organization_keys
        .list(&owner.authority, filter, first_page(), owner.now)
        .await?)
}

async fn projects(owner: &Owner, typed: &str) -> Result<Page<ProjectOverview, ProjectId>, Refusal> {
    let filter = ProjectFilter::new(ProjectStatus::All, Some(typed));
    Ok(owner
        .console
        .projects
        .list(&owner.authority, filter, first_page(), owner.now)
        .await?)
}

fn of_member<T>(member: &MemberOverview, value: T, term: &str) -> Candidate<T> {
    let name = member.user.display_name.to_string();
    Candidate {
        value,
        is_exact: folded(&name) == term,
        is_prefix: folded(&name).starts_with(term) || member.user.username.as_str().starts_with(term),
        name,
        detail: member.user.username.to_string(),
    }
}

fn of_key<T>(key: &HeldKey, value: T, term: &str) -> Candidate<T> {
    let name = key.name.to_string();
    Candidate {
        value,
        is_exact: folded(&name) == term
            || folded(key.hint.last_four()) == term
            || folded(&key.hint.to_string()) == term,
        is_prefix: folded(&name).starts_with(term),
        name,
        detail: format!("{} of {}", key.hint, key.holder.user.username),
    }
}

fn of_project<T>(found: &ProjectOverview, value: T, term: &str) -> Candidate<T> {
    let name = found.project.name.to_string();
    Candidate {
        value,
        is_exact: folded(&name) == term,
        is_prefix: folded(&name).starts_with(term),
        name,
        detail: "project".to_owned(),
    }
}

//! Resolves what somebody types into the search form to an actor or a subject.

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

/// The result of resolving a text.
pub(super) enum Resolution<T> {
    One(T),
    /// One of these, if any.
    Ambiguous {
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
    pub(super) means: T,
    pub(super) name: String,
    /// What tells it apart from others of its name.
    pub(super) detail: String,
    /// What was typed is all of its name.
    is_exact: bool,
    /// What was typed begins its name or username, so that people look for it first.
    is_prefix: bool,
}

/// How many may be suggestions: more than that is no choice.
const MAX_SUGGESTIONS: usize = 8;

/// A member or a key.
pub(super) async fn actor(owner: &Owner, typed: &str) -> Result<Resolution<Actor>, Refusal> {
    if let Some(actor) = owner
        .console
        .audit_trail
        .find_actor(&owner.authority, typed)
        .await?
    {
        return Ok(Resolution::One(actor));
    }
    let (people, keys) = try_join(members(owner, typed), keys(owner, typed)).await?;
    let are_all = people.next.is_none() && keys.next.is_none();
    let term = folded(typed);
    let people = people.items.iter();
    let people = people.map(|member| of_member(member, Actor::User(member.user.id), &term));
    let keys = keys.items.iter();
    let keys = keys.map(|key| of_key(key, Actor::ApiKey(key.id), &term));
    Ok(decided(people.chain(keys).collect(), are_all))
}

/// A member, a key or a project.
pub(super) async fn subject(owner: &Owner, typed: &str) -> Result<Resolution<Subject>, Refusal> {
    if let Some(subject) = owner
        .console
        .audit_trail
        .find_subject(&owner.authority, typed)
        .await?
    {
        return Ok(Resolution::One(subject));
    }
    // A username is somebody's alone.
    if let Ok(username) = Username::parse(typed)
        && let Some(member) = owner
            .console
            .members
            .find_by_username(&owner.authority, &username, owner.now)
            .await?
    {
        return Ok(Resolution::One(Subject::Membership(member.membership.id)));
    }
    let (people, keys, projects) =
        try_join3(members(owner, typed), keys(owner, typed), projects(owner, typed)).await?;
    let are_all = people.next.is_none() && keys.next.is_none() && projects.next.is_none();
    let term = folded(typed);
    let people = people.items.iter();
    let people = people.map(|member| {
        let means = Subject::Membership(member.membership.id);
        of_member(member, means, &term)
    });
    let keys = keys.items.iter();
    let keys = keys.map(|key| of_key(key, Subject::ApiKey(key.id), &term));
    let projects = projects.items.iter();
    let projects = projects.map(|found| of_project(found, Subject::Project(found.project.id), &term));
    Ok(decided(people.chain(projects).chain(keys).collect(), are_all))
}

/// `are_all`: nothing else resembles it, so that what is not among these is not there.
fn decided<T: Copy>(candidates: Vec<Candidate<T>>, are_all: bool) -> Resolution<T> {
    let (exact, similar): (Vec<_>, Vec<_>) = candidates.into_iter().partition(|candidate| candidate.is_exact);
    let (mut candidates, ambiguity) = match (are_all, exact.as_slice()) {
        (true, [only]) => return Resolution::One(only.means),
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
    Resolution::Ambiguous {
        candidates,
        ambiguity,
    }
}

const fn first<Id>() -> PageRequest<Id> {
    PageRequest::first(PageSize::EXPORT)
}

async fn members(owner: &Owner, typed: &str) -> Result<Page<MemberOverview, MembershipId>, Refusal> {
    let filter = MemberFilter::new(Some(typed));
    Ok(owner
        .console
        .members
        .list(&owner.authority, filter, first(), owner.now)
        .await?)
}

async fn keys(owner: &Owner, typed: &str) -> Result<Page<HeldKey, ApiKeyId>, Refusal> {
    let filter = OrganizationKeyFilter::new(StatusFilter::All, Some(typed));
    Ok(owner
        .console
        .organization_keys
        .list(&owner.authority, filter, first(), owner.now)
        .await?)
}

async fn projects(owner: &Owner, typed: &str) -> Result<Page<ProjectOverview, ProjectId>, Refusal> {
    let filter = ProjectFilter::new(ProjectStatus::All, Some(typed));
    Ok(owner
        .console
        .projects
        .list(&owner.authority, filter, first(), owner.now)
        .await?)
}

fn of_member<T>(member: &MemberOverview, means: T, term: &str) -> Candidate<T> {
    let name = member.user.display_name.to_string();
    Candidate {
        means,
        is_exact: folded(&name) == term,
        is_prefix: folded(&name).starts_with(term) || member.user.username.as_str().starts_with(term),
        name,
        detail: member.user.username.to_string(),
    }
}

fn of_key<T>(key: &HeldKey, means: T, term: &str) -> Candidate<T> {
    let name = key.name.to_string();
    Candidate {
        means,
        is_exact: folded(&name) == term
            || folded(key.hint.last_four()) == term
            || folded(&key.hint.to_string()) == term,
        is_prefix: folded(&name).starts_with(term),
        name,
        detail: format!("{} of {}", key.hint, key.holder.user.username),
    }
}

fn of_project<T>(found: &ProjectOverview, means: T, term: &str) -> Candidate<T> {
    let name = found.project.name.to_string();
    Candidate {
        means,
        is_exact: folded(&name) == term,
        is_prefix: folded(&name).starts_with(term),
        name,
        detail: "project".to_owned(),
    }
}

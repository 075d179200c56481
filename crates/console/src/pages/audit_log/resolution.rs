//! Resolves what somebody types into the filter to an actor or a subject.

use futures_util::future::{try_join, try_join3};
use keyward_domain::audit::{Actor, Subject};
use keyward_domain::user::Username;

use super::candidates::{Candidate, Found, Match, keys, members, projects};
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
    let exact = actors(owner, typed, Match::Exact).await?;
    resolve(typed, exact, actors(owner, typed, Match::Part)).await
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
    let exact = subjects(owner, typed, Match::Exact).await?;
    resolve(typed, exact, subjects(owner, typed, Match::Part)).await
}

async fn actors(owner: &Owner, typed: &str, how: Match) -> Result<Found<Actor>, Refusal> {
    let (people, keys) = try_join(
        members(owner, typed, how, |member| Actor::User(member.user.id)),
        keys(owner, typed, how, Actor::ApiKey),
    )
    .await?;
    Ok(people.and(keys))
}

async fn subjects(owner: &Owner, typed: &str, how: Match) -> Result<Found<Subject>, Refusal> {
    let (people, projects, keys) = try_join3(
        members(owner, typed, how, |member| {
            Subject::Membership(member.membership.id)
        }),
        projects(owner, typed, how),
        keys(owner, typed, how, Subject::ApiKey),
    )
    .await?;
    Ok(people.and(projects).and(keys))
}

/// The only one with exactly this name, else what may be meant. Others are only looked for if none has it.
async fn resolve<T: Copy>(
    typed: &str,
    exact: Found<T>,
    similar: impl Future<Output = Result<Found<T>, Refusal>>,
) -> Result<Filter<T>, Refusal> {
    let (mut candidates, mut ambiguity) = match exact.candidates.as_slice() {
        [only] if exact.is_complete => return Ok(Filter::One(only.value)),
        [] => (similar.await?.candidates, Ambiguity::NoExactMatch),
        [..] => (exact.candidates, Ambiguity::SeveralMatches),
    };
    if !exact.is_complete || candidates.len() > MAX_SUGGESTIONS {
        ambiguity = Ambiguity::TooManySimilar;
    }
    candidates.sort_by_key(|candidate| !candidate.is_prefix);
    candidates.truncate(MAX_SUGGESTIONS);
    Ok(Filter::Ambiguous {
        typed: typed.to_owned(),
        candidates,
        ambiguity,
    })
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test]
    async fn one_exact_name_is_ambiguous_if_there_may_be_others() {
        for is_complete in [true, false] {
            let candidate = Candidate {
                value: 1,
                name: "ci".to_owned(),
                detail: String::new(),
                is_prefix: true,
            };
            let exact = Found {
                candidates: vec![candidate],
                is_complete,
            };
            let is_clear = match resolve("ci", exact, pending()).await {
                Ok(Filter::One(1)) => true,
                Ok(Filter::Ambiguous {
                    candidates,
                    ambiguity: Ambiguity::TooManySimilar,
                    ..
                }) => candidates.is_empty(),
                Ok(_) | Err(_) => panic!("neither"),
            };
            assert_eq!(is_clear, is_complete);
        }
    }
}

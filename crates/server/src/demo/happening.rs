//! What can happen in a made-up organization: the words in which [`super::keys`], [`super::organization`] and
//! [`super::museum`] tell it.

use chrono::{DateTime, DurationRound, TimeDelta, Utc};

/// So many days before today, at this time of day in UTC. At least one, so that it is over.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    pub(super) days_ago: i64,
    pub(super) hour: i64,
    pub(super) minute: i64,
}

pub(super) struct Person {
    pub(super) username: &'static str,
    pub(super) display_name: &'static str,
}

pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) can_manage_keys: bool,
}

/// Who acts: somebody in the console, by username, or a key through the API, by name.
#[derive(Clone, Copy)]
pub(super) enum By {
    Person(&'static str),
    Key(&'static str),
}

/// What an owner does is done by the organization's first owner, where nobody is named.
pub(super) enum Happening {
    /// Somebody becomes a member, whom the owner invited.
    Joins(Person),
    /// And somebody who has an account already.
    JoinsToo(&'static str),
    /// A member leaves.
    Leaves(&'static str),
    /// The owner removes a member.
    Removes(&'static str),
    /// The owner makes a member an owner.
    MakesOwner(&'static str),
    /// The owner makes another owner a plain member.
    MakesMember(&'static str),
    /// The owner chooses whether new keys may manage keys if nobody asks for either.
    ChoosesForNewKeys(bool),
    /// A member signs in, wants to change their password, and mistypes the one they have.
    MistypesPassword(&'static str),
    /// A stranger guesses at a member's password until they are stopped.
    IsGuessedAt(&'static str),
    /// The owner invites somebody who does not come.
    Invites(&'static str),
    /// The owner takes an invitation back.
    TakesBack(&'static str),
    /// No two keys have one name, so that it stands for the key from then on.
    Creates(By, Key),
    /// So many keys at once that may not manage keys, whose names are this word and a [number](numbered).
    CreatesMany(By, &'static str, u32),
    /// A key gets another description.
    Describes(By, &'static str, &'static str),
    /// The key alone.
    Revokes(By, &'static str),
    /// And all keys that were created from it.
    RevokesWithDescendants(By, &'static str),
    /// An owner revokes somebody's key and says why.
    OwnerRevokes(&'static str, &'static str, &'static str),
    /// And so does whoever runs the command line.
    AdministratorRevokes(&'static str, &'static str),
    /// The key's token is found where it should not be.
    Leaks(&'static str, &'static str),
    /// The owner creates a project with its first members.
    Starts(&'static str, &'static [&'static str]),
    /// The owner gives a project another name, which stands for it from then on.
    Renames(&'static str, &'static str),
    /// The owner adds a member to a project.
    Enters(&'static str, &'static str),
    /// The owner takes a member out of a project.
    LeavesProject(&'static str, &'static str),
    /// The owner archives a project.
    Archives(&'static str),
    /// The owner brings an archived project back.
    Restores(&'static str),
    /// Somebody uses a key that no longer works, from where it was used before.
    IsTried(&'static str),
    /// An owner exports the audit log.
    ExportsAuditLog(&'static str),
}

/// What happened in one organization, or a part of it, in the order in which it happened.
pub(super) type History = [(Moment, Happening)];

/// The name of one of [`Happening::CreatesMany`].
pub(super) fn numbered(word: &str, number: u32) -> String {
    format!("{word} {number:02}")
}

pub(super) const fn at(days_ago: i64, hour: i64, minute: i64) -> Moment {
    Moment {
        days_ago,
        hour,
        minute,
    }
}

pub(super) const fn person(username: &'static str, display_name: &'static str) -> Person {
    Person {
        username,
        display_name,
    }
}

pub(super) const fn key(name: &'static str, description: &'static str) -> Key {
    Key {
        name,
        description,
        can_manage_keys: true,
    }
}

/// A key that may not manage keys.
pub(super) const fn restricted_key(name: &'static str, description: &'static str) -> Key {
    Key {
        can_manage_keys: false,
        ..key(name, description)
    }
}

impl Moment {
    /// The moment so many days before the day of `now`, in whole minutes of UTC.
    pub(super) fn before(self, now: DateTime<Utc>) -> DateTime<Utc> {
        let today = now.duration_trunc(TimeDelta::days(1)).unwrap_or(now);
        today - TimeDelta::days(self.days_ago) + TimeDelta::hours(self.hour) + TimeDelta::minutes(self.minute)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::demo::{keys, museum, organization};

    #[test]
    fn everything_happened_before_today_and_in_this_order() {
        let minutes_ago = |moment: &Moment| (moment.days_ago * 24 - moment.hour) * 60 - moment.minute;
        for (founded, history) in [
            (organization::FOUNDED, keys::HISTORY),
            (organization::FOUNDED, organization::HISTORY),
            (museum::FOUNDED, museum::HISTORY),
        ] {
            let mut before = minutes_ago(&founded);
            for (moment, _) in history {
                assert!(moment.days_ago >= 1);
                assert!((0..24).contains(&moment.hour) && (0..60).contains(&moment.minute));
                assert!(minutes_ago(moment) < before, "{} days ago", moment.days_ago);
                before = minutes_ago(moment);
            }
        }
    }

    #[test]
    fn no_two_keys_or_projects_of_an_organization_have_one_name() {
        for histories in [vec![keys::HISTORY, organization::HISTORY], vec![museum::HISTORY]] {
            let mut keys = BTreeSet::from([keys::TERMINAL.name.to_owned()]);
            let mut projects = BTreeSet::new();
            for (_, happening) in histories.into_iter().flatten() {
                match happening {
                    Happening::Creates(_, key) => assert!(keys.insert(key.name.to_owned()), "{}", key.name),
                    Happening::CreatesMany(_, word, count) => {
                        assert!(
                            (1..=*count).all(|number| keys.insert(numbered(word, number))),
                            "{word}"
                        );
                    }
                    Happening::Starts(name, _) | Happening::Renames(_, name) => {
                        assert!(projects.insert(name), "{name}");
                    }
                    _ => {}
                }
            }
        }
    }
}

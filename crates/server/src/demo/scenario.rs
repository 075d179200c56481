//! The history of a made-up organization: a table, which
//! [`ScenarioRunner`](super::scenario_runner::ScenarioRunner) plays.

use std::net::IpAddr;

use chrono::{DateTime, DurationRound, TimeDelta, Utc};
use serde::Deserialize;

/// The organization that the demo is about.
const FIRST_ORGANIZATION: &str = include_str!("scenario/first_organization.json");
/// A small organization of some of the same people; the owner of the first is a plain member of it.
const SECOND_ORGANIZATION: &str = include_str!("scenario/second_organization.json");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    /// The organization's name.
    pub(super) name: String,
    pub(super) founded: PastMoment,
    /// Its first owner, who is the actor of steps without a name.
    pub(super) owner: Person,
    /// In the order of their moments.
    pub(super) steps: Vec<(PastMoment, ScenarioStep)>,
    /// Keys by name, how long before now each was used last, and from where: addresses for documentation (RFC
    /// 5737, RFC 3849) and private ones (RFC 1918). A key that is missing here was never used.
    pub(super) last_uses: Vec<(String, Ago, IpAddr)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Person {
    pub(super) username: String,
    pub(super) display_name: String,
}

/// `by` is a username or the name of a key, which acts through the API. No two keys of an organization have
/// one name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) enum ScenarioStep {
    /// A new user accepts an invitation.
    Joins(Person),
    /// An existing user accepts an invitation.
    ExistingUserJoins(String),
    Leaves(String),
    IsRemoved(String),
    BecomesOwner(String),
    BecomesMember(String),
    /// The membership's end is planned for this many days later.
    MembershipExpires {
        username: String,
        after: u16,
    },
    /// Whether new keys may manage keys unless a request says otherwise.
    SetsNewKeysManageKeys(bool),
    /// In days; 0 for no limit.
    LimitsKeyLife(u16),
    /// A member signs in, and enters a wrong current password to change it.
    MistypesPassword(String),
    /// A stranger guesses at a member's password until the rate limit.
    PasswordIsGuessed(String),
    /// The invitation is not accepted.
    Invites(String),
    RevokesInvitation(String),
    CreatesKey {
        by: String,
        name: String,
        #[serde(default)]
        description: String,
        #[serde(default = "yes")]
        can_manage_keys: bool,
        /// This many days later.
        #[serde(default)]
        expires_after: Option<u16>,
    },
    /// Keys that may not manage keys, called `name` and a [number](numbered).
    CreatesKeys {
        by: String,
        name: String,
        count: u32,
    },
    EditsKey {
        by: String,
        name: String,
        description: String,
    },
    /// The key expires this many days from now.
    ChangesExpiry {
        by: String,
        name: String,
        expires_after: u16,
    },
    /// The key ends; its successor has its name.
    RotatesKey {
        by: String,
        name: String,
    },
    PlannedEndsAreRecorded,
    RevokesKey {
        by: String,
        name: String,
        #[serde(default)]
        descendants: bool,
    },
    OwnerRevokesKey {
        owner: String,
        name: String,
        note: String,
    },
    /// From the command line.
    AdministratorRevokesKey {
        name: String,
        note: String,
    },
    LeakedKeyIsRevoked {
        name: String,
        note: String,
    },
    /// With a token that no longer works, from where the key was used before.
    RevokedKeyIsUsed(String),
    CreatesProject {
        name: String,
        members: Vec<String>,
    },
    RenamesProject {
        name: String,
        new_name: String,
    },
    JoinsProject {
        name: String,
        username: String,
    },
    LeavesProject {
        name: String,
        username: String,
    },
    ArchivesProject(String),
    RestoresProject(String),
    ExportsAuditLog(String),
}

const fn yes() -> bool {
    true
}

/// The name of one of [`ScenarioStep::CreatesKeys`], from 1.
pub(super) fn numbered(name: &str, number: u32) -> String {
    format!("{name} {number:02}")
}

/// `311 09:20`: this many days before today, at this time of day in UTC.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct PastMoment {
    days_ago: i64,
    time_of_day: TimeDelta,
}

impl PastMoment {
    pub(super) fn before(self, now: DateTime<Utc>) -> DateTime<Utc> {
        let today = now.duration_trunc(TimeDelta::days(1)).unwrap_or(now);
        today - TimeDelta::days(self.days_ago) + self.time_of_day
    }
}

impl TryFrom<String> for PastMoment {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parts = || {
            let (days_ago, time) = text.split_once(' ')?;
            let (hours, minutes) = time.split_once(':')?;
            let (hours, minutes) = (hours.parse().ok()?, minutes.parse().ok()?);
            Some(Self {
                days_ago: days_ago.parse().ok().filter(|days| *days >= 1)?,
                time_of_day: TimeDelta::hours(hours) + TimeDelta::minutes(minutes),
            })
        };
        parts().ok_or_else(|| format!("`{text}` is not days ago and a time, as `311 09:20`"))
    }
}

/// `40 s`, `4 min`, `2 h` or `208 d` before now.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Ago(pub(super) TimeDelta);

impl TryFrom<String> for Ago {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parts = || {
            let (count, unit) = text.split_once(' ')?;
            let count = count.parse().ok()?;
            match unit {
                "s" => TimeDelta::try_seconds(count),
                "min" => TimeDelta::try_minutes(count),
                "h" => TimeDelta::try_hours(count),
                "d" => TimeDelta::try_days(count),
                _ => None,
            }
        };
        parts()
            .map(Self)
            .ok_or_else(|| format!("`{text}` is not a count and s, min, h or d"))
    }
}

impl Scenario {
    pub(super) fn first_organization() -> Result<Self, serde_json::Error> {
        serde_json::from_str(FIRST_ORGANIZATION)
    }

    pub(super) fn second_organization() -> Result<Self, serde_json::Error> {
        serde_json::from_str(SECOND_ORGANIZATION)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::demo::fill::TERMINAL;

    fn scenarios() -> [Scenario; 2] {
        [Scenario::first_organization(), Scenario::second_organization()].map(Result::unwrap)
    }

    #[test]
    fn scenario_steps_are_in_time_order() {
        let now = DateTime::UNIX_EPOCH + TimeDelta::days(20_000);
        for scenario in scenarios() {
            let mut before = scenario.founded.before(now);
            for (moment, _) in scenario.steps {
                let at = moment.before(now);
                assert!(before < at && at < now, "{at}");
                assert!(moment.time_of_day < TimeDelta::days(1), "{at}");
                before = at;
            }
        }
    }

    #[test]
    fn names_of_keys_and_projects_are_unique_within_an_organization() {
        for scenario in scenarios() {
            let mut keys = BTreeSet::from([TERMINAL.to_owned()]);
            let mut projects = BTreeSet::new();
            for (_, step) in scenario.steps {
                match step {
                    ScenarioStep::CreatesKey { name, .. } => assert!(keys.insert(name.clone()), "{name}"),
                    ScenarioStep::CreatesKeys { name, count, .. } => {
                        assert!(
                            (1..=count).all(|number| keys.insert(numbered(&name, number))),
                            "{name}"
                        );
                    }
                    ScenarioStep::CreatesProject { name, .. }
                    | ScenarioStep::RenamesProject { new_name: name, .. } => {
                        assert!(projects.insert(name.clone()), "{name}");
                    }
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn malformed_times_and_durations_are_refused() {
        for text in ["", "311", "0 09:20", "311 09", "x 09:20"] {
            assert!(PastMoment::try_from(text.to_owned()).is_err(), "{text}");
        }
        for text in ["", "40", "40 weeks", "x s"] {
            assert!(Ago::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}

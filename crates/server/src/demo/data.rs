//! The made-up data: what happened at Acme Robotics, in the order in which it happened. Most people and all projects are
//! in [`super::organization`].
//!
//! It is the same at each start, but for the moments, which are as long ago each time.

use Happening::{Creates, Joins, Revokes, RevokesWithDescendants};

/// So many days before today, at this time of day in UTC. At least one, so that it is over.
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
}

/// Who acts: somebody in the console, by username, or a key through the API, by name.
pub(super) enum By {
    Person(&'static str),
    Key(&'static str),
}

pub(super) enum Happening {
    /// Somebody becomes a member, whom the owner invited.
    Joins(Person),
    /// No two keys have one name, so that it stands for the key from then on.
    Creates(By, Key),
    /// The key alone.
    Revokes(By, &'static str),
    /// And all keys that were created from it.
    RevokesWithDescendants(By, &'static str),
    /// The owner removes a member.
    Removes(&'static str),
    /// The owner invites somebody who does not come.
    Invites(&'static str),
    /// The owner creates a project with its first members.
    Starts(&'static str, &'static [&'static str]),
    /// The owner adds a member to a project.
    Enters(&'static str, &'static str),
    /// The owner takes a member out of a project.
    LeavesProject(&'static str, &'static str),
    /// The owner archives a project.
    Archives(&'static str),
}

pub(super) const ORGANIZATION: &str = "Acme Robotics";
pub(super) const OWNER: Person = person("ada", "Ada Example");
pub(super) const FOUNDED: Moment = at(311, 9, 2);

/// The owner's key for the command line that is printed; made at the start.
pub(super) const TERMINAL: Key = key("Terminal", "For the curl line that the demo printed.");

pub(super) const HISTORY: &[(Moment, Happening)] = &[
    (
        at(311, 9, 20),
        Creates(ADA, key("Laptop (before the coffee)", "")),
    ),
    (at(309, 14, 5), Joins(person("grace", "Grace Sample"))),
    (
        at(302, 8, 47),
        Creates(
            ADA,
            key(
                "Deploy pipeline",
                "Rolls out the fleet controller.\nOwned by the platform team.",
            ),
        ),
    ),
    (at(301, 16, 12), Joins(person("omar", "عمر مثال"))),
    (
        at(298, 10, 31),
        Creates(
            By::Key("Deploy pipeline"),
            key(
                "Preview environments",
                "One robot simulator for each pull request.",
            ),
        ),
    ),
    (
        at(295, 11, 3),
        Creates(
            GRACE,
            key("Warehouse dashboard", "The screen beside the coffee machine."),
        ),
    ),
    (
        at(280, 15, 26),
        Creates(ADA, key("Load test, contractor", "Until the end of the quarter.")),
    ),
    (
        at(279, 9, 41),
        Creates(By::Key("Load test, contractor"), key("Load test, Frankfurt", "")),
    ),
    (
        at(279, 9, 44),
        Creates(By::Key("Load test, contractor"), key("Load test, Singapore", "")),
    ),
    (
        at(268, 13, 18),
        Creates(OMAR, key("نظام القياس عن بُعد", "يقرأ بيانات الأسطول كل ليلة.")),
    ),
    (
        at(254, 2, 0),
        Creates(
            By::Key("Deploy pipeline"),
            key(
                "Nightly telemetry export, spring",
                "Makes its successor every season.",
            ),
        ),
    ),
    (
        at(241, 10, 9),
        Joins(person(
            "maximiliane",
            "Maximiliane Wolkenstein-Beispielhausen von und zu Musterstadt an der Probe",
        )),
    ),
    (
        at(240, 12, 55),
        Creates(
            MAXIMILIANE,
            key(
                "Monthly reconciliation of spare parts between the Rotterdam warehouse and the finance platform",
                "Finance asked for a name that says what it does.\n\nIt runs on the first working day of the month, \
                 compares the stock of spare parts with the ledger, and writes what differs into a sheet that somebody \
                 has to sign.",
            ),
        ),
    ),
    (
        at(222, 17, 38),
        RevokesWithDescendants(ADA, "Load test, contractor"),
    ),
    (at(206, 8, 15), Revokes(ADA, "Laptop (before the coffee)")),
    (
        at(206, 8, 22),
        Creates(ADA, key("Laptop (after the coffee)", "The new one, with a lid.")),
    ),
    (
        at(188, 13, 4),
        Creates(GRACE, key("Conveyor calibration notebook", "")),
    ),
    (
        at(163, 2, 0),
        Creates(
            By::Key("Nightly telemetry export, spring"),
            key(
                "Nightly telemetry export, summer",
                "Makes its successor every season.",
            ),
        ),
    ),
    (
        at(163, 2, 1),
        Revokes(
            By::Key("Nightly telemetry export, summer"),
            "Nightly telemetry export, spring",
        ),
    ),
    (
        at(117, 9, 33),
        Creates(
            By::Key("Preview environments"),
            key("Preview environment of #4711", "Goes when the pull request does."),
        ),
    ),
    (
        at(112, 18, 6),
        Revokes(By::Key("Preview environments"), "Preview environment of #4711"),
    ),
    (at(96, 11, 27), Revokes(GRACE, "Conveyor calibration notebook")),
    (
        at(72, 2, 0),
        Creates(
            By::Key("Nightly telemetry export, summer"),
            key(
                "Nightly telemetry export, autumn",
                "Makes its successor every season.",
            ),
        ),
    ),
    (
        at(72, 2, 1),
        Revokes(
            By::Key("Nightly telemetry export, autumn"),
            "Nightly telemetry export, summer",
        ),
    ),
    (
        at(45, 10, 40),
        Creates(
            OMAR,
            key("لوحة المتابعة 🛰️", "تعرض الروابط الضعيفة مع الأقمار الاصطناعية."),
        ),
    ),
    (
        at(33, 15, 11),
        Creates(
            ADA,
            key(
                "Quarterly report for the board: uptime, incidents, spare parts and mileage of all robots",
                "",
            ),
        ),
    ),
    (
        at(19, 14, 50),
        Creates(ADA, key("גיבוי לילי", "Nightly backup of the Haifa lab.")),
    ),
    (at(12, 13, 35), Joins(person("quentin", "Quentin Placeholder"))),
    (
        at(6, 16, 44),
        Creates(
            ADA,
            key("Release notes bot", "What changed, in words that people read."),
        ),
    ),
    (
        at(5, 9, 58),
        Creates(
            By::Key("Preview environments"),
            key("Preview environment of #5150", "Goes when the pull request does."),
        ),
    ),
    (
        at(2, 15, 20),
        Revokes(By::Key("Preview environments"), "Preview environment of #5150"),
    ),
    (
        at(1, 8, 5),
        Creates(
            By::Key("Deploy pipeline"),
            key(
                "Canary of the fleet controller",
                "Watches the first ten robots of each release.",
            ),
        ),
    ),
];

const ADA: By = By::Person("ada");
const GRACE: By = By::Person("grace");
const OMAR: By = By::Person("omar");
const MAXIMILIANE: By = By::Person("maximiliane");

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

const fn key(name: &'static str, description: &'static str) -> Key {
    Key { name, description }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::demo::organization::ORGANIZATION_HISTORY;

    #[test]
    fn everything_happened_before_today_and_in_this_order() {
        let minutes_ago = |moment: &Moment| (moment.days_ago * 24 - moment.hour) * 60 - moment.minute;
        for history in [HISTORY, ORGANIZATION_HISTORY] {
            let mut before = minutes_ago(&FOUNDED);
            for (moment, _) in history {
                assert!(moment.days_ago >= 1);
                assert!((0..24).contains(&moment.hour) && (0..60).contains(&moment.minute));
                assert!(minutes_ago(moment) < before, "{} days ago", moment.days_ago);
                before = minutes_ago(moment);
            }
        }
    }

    #[test]
    fn no_two_keys_have_one_name() {
        let mut names = BTreeSet::from([TERMINAL.name]);
        for (_, happening) in HISTORY {
            if let Creates(_, key) = happening {
                assert!(names.insert(key.name), "{}", key.name);
            }
        }
    }
}

//! A second, small organization of some of the same people: whoever owns the first is a plain member of this one.

use super::happening::Happening::{
    Archives, Creates, Enters, Joins, JoinsToo, MakesOwner, OwnerRevokes, Revokes, Starts,
};
use super::happening::{By, History, Moment, at, key, person};

pub(super) const NAME: &str = "Museum of Machines";
/// Has an account already.
pub(super) const OWNER: &str = "grace";
pub(super) const FOUNDED: Moment = at(170, 13, 0);

pub(super) const HISTORY: &History = &[
    (at(169, 10, 30), JoinsToo("kenji")),
    (at(168, 16, 20), JoinsToo("ada")),
    (at(167, 9, 15), Starts(GUIDES, &["grace", "ada", "kenji"])),
    (
        at(166, 11, 40),
        Creates(
            By::Person("ada"),
            key("Audio guide, hall 2", "Lets the loom speak."),
        ),
    ),
    (at(160, 10, 5), Joins(person("viola", "Viola Mustermann"))),
    (at(159, 9, 50), Starts(TICKETS, &["viola"])),
    (
        at(158, 14, 25),
        Creates(By::Person("viola"), key("Ticket desk", "")),
    ),
    (at(143, 12, 0), MakesOwner("kenji")),
    (
        at(101, 15, 35),
        Creates(
            By::Person("ada"),
            key("Night of the museums", "One night, and then never again."),
        ),
    ),
    (
        at(99, 8, 55),
        OwnerRevokes("kenji", "Night of the museums", "The night is over"),
    ),
    (at(98, 9, 30), Starts(NIGHT, &["ada"])),
    (at(97, 9, 35), Archives(NIGHT)),
    (
        at(62, 10, 45),
        Creates(By::Person("kenji"), key("Opening hours on the website", "")),
    ),
    (at(41, 17, 10), Revokes(By::Person("viola"), "Ticket desk")),
    (
        at(41, 17, 14),
        Creates(By::Person("viola"), key("Ticket desk, both doors", "")),
    ),
    (at(7, 10, 0), Enters(TICKETS, "kenji")),
];

const GUIDES: &str = "Audio guides";
const TICKETS: &str = "Ticket desk";
const NIGHT: &str = "Night of the museums";

//! The keys of the made-up organization, most of the people who hold them among them. Everybody else and all projects
//! are in [`super::organization`], when the keys were used last in [`super::last_uses`].

use super::happening::Happening::{
    AdministratorRevokes, Creates, CreatesMany, Describes, IsTried, Joins, Leaks, OwnerRevokes, Revokes,
    RevokesWithDescendants,
};
use super::happening::{By, History, Key, at, key, person, restricted_key};

/// The limit is 100: a few more, and one of them has to go first.
pub(super) const ROBOTS: u32 = 96;
/// What the many keys of one member are called, before their number.
pub(super) const ROBOT: &str = "Robot";

/// The owner's key for the command line that is printed; made at the start.
pub(super) const TERMINAL: Key = key("Terminal", "For the curl line that the demo printed.");

pub(super) const HISTORY: &History = &[
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
            restricted_key("Warehouse dashboard", "The screen beside the coffee machine."),
        ),
    ),
    (
        at(280, 15, 26),
        Creates(ADA, key("Load test, contractor", "Until the end of the quarter.")),
    ),
    (
        at(279, 9, 41),
        Creates(
            By::Key("Load test, contractor"),
            restricted_key("Load test, Frankfurt", ""),
        ),
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
        at(261, 9, 18),
        Creates(
            TOMASZ,
            key("Simulator, nightly run", "Replays yesterday on today’s software."),
        ),
    ),
    (
        at(260, 11, 7),
        Creates(
            By::Key("Simulator, nightly run"),
            key("Simulator, weekend run", "All days of the week at once."),
        ),
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
        at(231, 10, 25),
        Describes(
            ADA,
            "Deploy pipeline",
            "Rolls out the fleet controller.\nOwned by the platform team, who answer for it at night, too.",
        ),
    ),
    (
        at(222, 17, 38),
        RevokesWithDescendants(ADA, "Load test, contractor"),
    ),
    (
        at(213, 15, 2),
        Creates(BJOERN, key("Haifa lab, door display", "")),
    ),
    (at(206, 8, 15), Revokes(ADA, "Laptop (before the coffee)")),
    (
        at(206, 8, 22),
        Creates(ADA, key("Laptop (after the coffee)", "The new one, with a lid.")),
    ),
    (at(206, 11, 3), IsTried("Laptop (before the coffee)")),
    (at(201, 9, 30), CreatesMany(CHIDI, ROBOT, ROBOTS)),
    (
        at(188, 13, 4),
        Creates(GRACE, key("Conveyor calibration notebook", "")),
    ),
    (
        at(169, 10, 12),
        Creates(
            FARID,
            key("Shelf labels", "Prints a label for each shelf that moved."),
        ),
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
        at(147, 16, 40),
        Creates(HANA, key("Field service app, tablet 3", "")),
    ),
    (
        at(139, 12, 11),
        Leaks(
            "Field service app, tablet 3",
            "Found in a public repository of examples",
        ),
    ),
    (
        at(139, 14, 30),
        Creates(
            HANA,
            key("Field service app, tablet 3, new", "Not in any repository."),
        ),
    ),
    (
        at(126, 9, 14),
        Creates(
            ADA,
            key("Spreadsheet of the trade fair", "Counts visitors at the stand."),
        ),
    ),
    (
        at(119, 17, 52),
        OwnerRevokes(
            "ingrid",
            "Spreadsheet of the trade fair",
            "The fair is over, and the sheet is shared widely",
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
    (
        at(106, 10, 3),
        Creates(KARIN, key("Charging stations, wallbox firmware", "")),
    ),
    (
        at(105, 10, 9),
        Creates(
            By::Key("Charging stations, wallbox firmware"),
            key("Charging stations, Rotterdam", ""),
        ),
    ),
    (at(96, 11, 27), Revokes(GRACE, "Conveyor calibration notebook")),
    (
        at(84, 22, 31),
        AdministratorRevokes(
            "Charging stations, wallbox firmware",
            "The vendor’s update server was broken into",
        ),
    ),
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
        at(60, 11, 46),
        OwnerRevokes(
            "ada",
            "Shelf labels",
            "The label printer is gone; ask me if you still need this",
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
        at(27, 10, 20),
        Describes(
            OMAR,
            "لوحة المتابعة 🛰️",
            "تعرض الروابط الضعيفة مع الأقمار الاصطناعية، وتنبّه الفريق.",
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
            restricted_key("Preview environment of #5150", "Goes when the pull request does."),
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
            restricted_key(
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
const TOMASZ: By = By::Person("tomasz");
const BJOERN: By = By::Person("bjoern");
const CHIDI: By = By::Person("chidi");
const FARID: By = By::Person("farid");
const HANA: By = By::Person("hana");
const KARIN: By = By::Person("karin");

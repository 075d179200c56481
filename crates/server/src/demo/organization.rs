//! The made-up organization: who came, what they work on, and what is over. Its keys are in [`super::keys`].

use super::happening::Happening::{
    Archives, ChoosesForNewKeys, Enters, ExportsAuditLog, Invites, IsGuessedAt, Joins, Leaves, LeavesProject,
    MakesMember, MakesOwner, MistypesPassword, Removes, Renames, Restores, Starts, TakesBack,
};
use super::happening::{History, Moment, Person, at, person};

pub(super) const NAME: &str = "Acme Robotics";
pub(super) const OWNER: Person = person("ada", "Ada Example");
pub(super) const FOUNDED: Moment = at(311, 9, 2);

pub(super) const HISTORY: &History = &[
    (at(310, 10, 0), Starts(FLEET, &["ada"])),
    (at(308, 9, 10), Starts(WAREHOUSE, &["ada", "grace"])),
    (at(300, 9, 0), Enters(FLEET, "omar")),
    (at(297, 13, 20), Joins(person("ingrid", "Ingrid Beispiel"))),
    (at(296, 9, 5), Enters(WAREHOUSE, "ingrid")),
    (at(288, 8, 30), Joins(person("kenji", "見本 健二"))),
    (at(287, 10, 45), Starts(SIMULATOR, &["ada", "kenji"])),
    (at(281, 9, 0), Starts(LOAD_TEST, &["ada", "kenji"])),
    (at(274, 11, 15), Joins(person("lucia", "Lucía Ejemplo"))),
    (at(269, 15, 0), Starts(TELEMETRY, &["omar", "lucia"])),
    (at(262, 9, 25), Joins(person("tomasz", "Tomasz Przykładowy"))),
    (at(261, 10, 0), Enters(SIMULATOR, "tomasz")),
    (at(255, 9, 40), Enters(TELEMETRY, "ada")),
    (at(248, 14, 35), Joins(person("priya", "प्रिया उदाहरण"))),
    (at(247, 9, 30), Enters(FLEET, "priya")),
    (at(240, 9, 0), Starts(RECONCILIATION, &["maximiliane", "ingrid"])),
    (at(233, 16, 20), Joins(person("noa", "נועה לדוגמה"))),
    (at(232, 9, 0), Starts(HAIFA, &["ada", "noa"])),
    (at(226, 10, 20), MakesOwner("ingrid")),
    (at(221, 9, 0), Archives(LOAD_TEST)),
    (at(215, 10, 10), Joins(person("bjoern", "Björn Muster"))),
    (at(214, 11, 0), Enters(HAIFA, "bjoern")),
    (at(209, 9, 45), Invites("A consultant, for three weeks")),
    (at(207, 8, 50), TakesBack("A consultant, for three weeks")),
    (at(203, 9, 55), Joins(person("chidi", "Chidi Sample"))),
    (at(202, 13, 0), Enters(FLEET, "chidi")),
    (at(195, 14, 25), Joins(person("dmitri", "Дмитрий Примеров"))),
    (at(194, 9, 0), Enters(TELEMETRY, "dmitri")),
    (at(190, 9, 30), Starts(CONVEYOR, &["grace", "chidi", "ingrid"])),
    (at(181, 15, 5), Joins(person("elena", "Elena Esempio"))),
    (at(180, 10, 30), Enters(SIMULATOR, "elena")),
    (at(171, 8, 50), Joins(person("farid", "فرید نمونه"))),
    (at(170, 9, 15), Enters(WAREHOUSE, "farid")),
    (at(158, 13, 45), Joins(person("georgios", "Γεώργιος Παράδειγμα"))),
    (at(157, 9, 20), Enters(FLEET, "georgios")),
    (at(149, 10, 35), Joins(person("hana", "Hana Vzorová"))),
    (at(148, 11, 30), Starts(FIELD_SERVICE, &["hana", "farid"])),
    (at(140, 9, 0), Removes("tomasz")),
    (at(133, 14, 0), Joins(person("isaac", "Isaac Dummy"))),
    (at(132, 9, 10), Enters(FIELD_SERVICE, "isaac")),
    (at(121, 9, 35), Joins(person("jun", "Jun Placeholder"))),
    (at(120, 9, 40), Enters(SIMULATOR, "jun")),
    (at(110, 13, 15), MakesMember("ingrid")),
    (at(108, 15, 30), Joins(person("karin", "Karin Voorbeeld"))),
    (at(107, 9, 25), Starts(STATIONS, &["karin", "georgios", "ada"])),
    (at(97, 9, 40), ChoosesForNewKeys(false)),
    (at(96, 16, 30), ChoosesForNewKeys(true)),
    (at(95, 9, 0), Archives(CONVEYOR)),
    (at(93, 12, 30), Leaves("bjoern")),
    (at(88, 11, 40), Joins(person("leila", "Leïla Exemple"))),
    (at(87, 10, 5), Enters(STATIONS, "leila")),
    (at(79, 10, 0), Archives(FIELD_SERVICE)),
    (at(77, 9, 5), Restores(FIELD_SERVICE)),
    (at(70, 8, 15), ExportsAuditLog("ada")),
    (at(66, 9, 15), Joins(person("mateus", "Mateus Exemplo"))),
    (at(65, 9, 20), Enters(TELEMETRY, "mateus")),
    (at(51, 13, 55), Joins(person("nguyen", "Nguyễn Thị Mẫu"))),
    (at(50, 10, 15), Enters(FLEET, "nguyen")),
    (at(44, 9, 50), Starts(SATELLITES, &["omar", "nguyen"])),
    (at(38, 16, 5), Enters(SATELLITES, "mateus")),
    (at(36, 11, 20), Renames(STATIONS, CHARGING)),
    (at(30, 9, 30), LeavesProject(TELEMETRY, "dmitri")),
    (at(27, 8, 50), MistypesPassword("kenji")),
    (at(24, 14, 10), Invites("Petra, who was at the job fair")),
    (at(12, 3, 25), IsGuessedAt("omar")),
    (at(11, 9, 45), Enters(WAREHOUSE, "quentin")),
    (at(9, 10, 55), Joins(person("rosa", "Rosa Prøve"))),
    (at(8, 9, 30), Starts(BOARD, &[])),
    (at(5, 13, 10), Invites("Ignacio, by mistake")),
    (at(5, 13, 12), TakesBack("Ignacio, by mistake")),
    (at(3, 11, 20), Invites("سعاد، فريق الميدان")),
    (
        at(1, 9, 15),
        Invites("A second pair of eyes for the fleet controller"),
    ),
];

const FLEET: &str = "Fleet controller";
const WAREHOUSE: &str = "Warehouse robots";
const SIMULATOR: &str = "Robot simulator";
const LOAD_TEST: &str = "Load test of the fleet controller";
const TELEMETRY: &str = "قياس الأسطول عن بُعد 🛰️";
const RECONCILIATION: &str =
    "Monthly reconciliation of spare parts between the Rotterdam warehouse and the finance platform";
const HAIFA: &str = "מעבדת חיפה";
const CONVEYOR: &str = "Conveyor calibration";
const FIELD_SERVICE: &str = "Field service";
const STATIONS: &str = "Charging stations";
const CHARGING: &str = "Charging and parking";
const SATELLITES: &str = "Satellite links";
const BOARD: &str = "Numbers for the board";

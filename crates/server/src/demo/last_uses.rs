//! When the keys of the made-up organization were used last, and from where: addresses for documentation (RFC 5737,
//! RFC 3849) and private ones (RFC 1918).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use chrono::TimeDelta;

use super::happening::numbered;
use super::keys::{ROBOT, ROBOTS};

/// A key, by name, how long ago it was used last, and from where. Who is not here was never used.
pub(super) struct LastUseOf {
    pub(super) key: String,
    pub(super) ago: TimeDelta,
    pub(super) from: IpAddr,
}

/// All of them, in no order.
pub(super) fn last_uses() -> impl Iterator<Item = LastUseOf> {
    let single = SINGLE.iter().map(|(key, ago, from)| LastUseOf {
        key: (*key).to_owned(),
        ago: *ago,
        from: *from,
    });
    single.chain((1..=ROBOTS).filter_map(robot))
}

const SINGLE: &[(&str, TimeDelta, IpAddr)] = &[
    (
        "Laptop (before the coffee)",
        TimeDelta::days(208),
        v4([198, 51, 100, 23]),
    ),
    ("Laptop (after the coffee)", TimeDelta::hours(2), v6(0x23)),
    ("Deploy pipeline", TimeDelta::minutes(4), v4([203, 0, 113, 7])),
    (
        "Preview environments",
        TimeDelta::minutes(38),
        v4([203, 0, 113, 7]),
    ),
    (
        "Preview environment of #4711",
        TimeDelta::days(113),
        v4([203, 0, 113, 8]),
    ),
    (
        "Preview environment of #5150",
        TimeDelta::days(4),
        v4([203, 0, 113, 8]),
    ),
    ("Warehouse dashboard", TimeDelta::minutes(1), v4([10, 20, 3, 14])),
    ("Load test, contractor", TimeDelta::days(231), v4([192, 0, 2, 77])),
    ("Load test, Frankfurt", TimeDelta::days(230), v6(0xf4a)),
    ("نظام القياس عن بُعد", TimeDelta::hours(9), v6(0x517)),
    (
        "Nightly telemetry export, spring",
        TimeDelta::days(164),
        v4([203, 0, 113, 9]),
    ),
    (
        "Nightly telemetry export, summer",
        TimeDelta::days(73),
        v4([203, 0, 113, 9]),
    ),
    (
        "Nightly telemetry export, autumn",
        TimeDelta::hours(11),
        v4([203, 0, 113, 9]),
    ),
    (
        "Simulator, nightly run",
        TimeDelta::days(142),
        v4([192, 0, 2, 30]),
    ),
    ("Haifa lab, door display", TimeDelta::days(95), v4([10, 40, 0, 2])),
    (
        "Field service app, tablet 3",
        TimeDelta::days(140),
        v4([198, 51, 100, 200]),
    ),
    ("Field service app, tablet 3, new", TimeDelta::days(3), v6(0x3ab)),
    (
        "Charging stations, wallbox firmware",
        TimeDelta::days(86),
        v4([192, 0, 2, 180]),
    ),
    (
        "Charging stations, Rotterdam",
        TimeDelta::days(6),
        v4([192, 0, 2, 181]),
    ),
    (
        "Conveyor calibration notebook",
        TimeDelta::days(121),
        v4([10, 20, 3, 60]),
    ),
    ("Shelf labels", TimeDelta::days(133), v4([10, 20, 3, 71])),
    (
        "Monthly reconciliation of spare parts between the Rotterdam warehouse and the finance platform",
        TimeDelta::days(20),
        v4([198, 51, 100, 9]),
    ),
    ("Release notes bot", TimeDelta::days(2), v4([203, 0, 113, 7])),
];

/// Most are on the road, one in twelve is still in its box, and a few were lost months ago.
fn robot(number: u32) -> Option<LastUseOf> {
    let ago = match number % 12 {
        0 => return None,
        5 => TimeDelta::days(90 + i64::from(number)),
        _ => TimeDelta::seconds(40 * i64::from(number)),
    };
    let host = u8::try_from(number).ok()?;
    Some(LastUseOf {
        key: numbered(ROBOT, number),
        ago,
        from: v4([172, 16, 5, host]),
    })
}

const fn v4([a, b, c, d]: [u8; 4]) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(a, b, c, d))
}

const fn v6(host: u16) -> IpAddr {
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0x10, 0, 0, 0, host))
}

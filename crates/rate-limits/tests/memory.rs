//! The limits use a bounded amount of memory, whatever clients send.

#![expect(clippy::expect_used, reason = "a failed expectation is a failed test")]

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use keyward_rate_limits::{FailedAuthentications, Quota};

fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = resident.and_then(|text| text.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.expect("a size") / 1024
}

fn network(number: u32) -> IpAddr {
    let [a, b, c, d] = number.to_be_bytes().map(u16::from);
    Ipv6Addr::new(0x2001, 0xdb8, a << 8 | b, c << 8 | d, 0, 0, 0, 1).into()
}

#[test]
fn million_guessing_networks_take_at_most_24_mib() {
    let quota = Quota::new(1, 3_600).expect("a quota");
    let failures = FailedAuthentications::new(quota, Arc::new(|| Duration::from_secs(1)));
    let before = resident_mib();
    for number in 0..1_000_000 {
        let counted = [(); 3].map(|()| failures.count(network(number)).is_ok());
        assert_eq!(counted, [true, false, false], "each is limited by itself");
    }
    let grown = resident_mib() - before;
    assert!(grown <= 24, "{grown} MiB");
    assert!(
        failures.count(network(999_999)).is_err(),
        "the last is remembered"
    );
}

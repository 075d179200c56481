//! The limits use a bounded amount of memory for any requests of clients. Each test has a process of its own
//! (cargo-nextest), whose memory is what it measures.

#![expect(clippy::expect_used, reason = "a failed expectation is a failed test")]

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use keyward_rate_limits::{
    ClientNetwork, CountedKey, Elapsed, FailedAuthentications, Limiter, Quota, RequestLimits, RequestQuotas,
};

const SENDERS: u32 = 1_000_000;

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

fn clock() -> Elapsed {
    Arc::new(|| Duration::from_secs(1))
}

fn quota() -> Quota {
    Quota::new(1, 3_600).expect("a quota")
}

fn limits(quotas: RequestQuotas) -> RequestLimits {
    RequestLimits::new(quotas, &clock()).expect("limits")
}

fn key(key: u32, organization: u32) -> CountedKey {
    CountedKey {
        key: key.into(),
        organization: organization.into(),
    }
}

/// Lets every sender send a request, and checks by how much the memory grows.
fn assert_grows_by_at_most(mib: u64, is_allowed: impl Fn(u32) -> bool) {
    let before = resident_mib();
    for number in 0..SENDERS {
        assert!(is_allowed(number), "each is limited by itself");
    }
    let grown = resident_mib().saturating_sub(before);
    assert!(grown <= mib, "{grown} MiB");
    assert!(!is_allowed(SENDERS - 1), "the last is remembered");
}

/// Each is refused twice, so that it gets a lane.
#[test]
fn million_guessing_networks_take_at_most_24_mib() {
    let failures = FailedAuthentications::new(quota(), clock());
    assert_grows_by_at_most(24, |number| {
        let [first, second, third] = [(); 3].map(|()| failures.count(network(number)).is_ok());
        assert!(!second && !third, "each is limited by itself");
        first
    });
}

#[test]
fn million_keys_take_at_most_24_mib() {
    let limits = limits(RequestQuotas {
        per_key: Some(quota()),
        ..RequestQuotas::default()
    });
    assert_grows_by_at_most(24, |number| {
        limits.count_request(key(number, 1), None).exceeded.is_none()
    });
}

#[test]
fn million_networks_with_keys_take_at_most_12_mib() {
    let limits = limits(RequestQuotas {
        per_address: Some(quota()),
        ..RequestQuotas::default()
    });
    assert_grows_by_at_most(12, |number| {
        let counted = limits.count_request(key(1, 1), Some(network(number)));
        counted.exceeded.is_none()
    });
}

#[test]
fn million_organizations_take_at_most_3_mib() {
    let limits = limits(RequestQuotas {
        per_organization: Some(quota()),
        ..RequestQuotas::default()
    });
    assert_grows_by_at_most(3, |number| {
        limits.count_request(key(1, number), None).exceeded.is_none()
    });
}

#[test]
fn million_gateways_take_at_most_3_mib() {
    let limits = limits(RequestQuotas {
        per_verifier: Some(quota()),
        ..RequestQuotas::default()
    });
    assert_grows_by_at_most(3, |number| {
        let counted = limits.count_forwarded(key(1, 1), Some(network(number)));
        counted.exceeded.is_none()
    });
}

/// Their names are as long as may be.
#[test]
fn million_verifiers_take_at_most_6_mib() {
    let limits = limits(RequestQuotas {
        per_verifier: Some(quota()),
        ..RequestQuotas::default()
    });
    assert_grows_by_at_most(6, |number| {
        limits
            .count_verifier(&format!("{number:0>64}"))
            .exceeded
            .is_none()
    });
}

#[test]
fn million_networks_that_report_leaks_take_at_most_2_mib() {
    // As many are counted as in the server.
    let reports = Limiter::<ClientNetwork>::new("leak-reports", quota(), 10_000, &clock());
    assert_grows_by_at_most(2, |number| reports.count(&network(number).into()).is_ok());
}

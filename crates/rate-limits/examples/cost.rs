//! The cost of counting a request: `cargo run --release -p keyward-rate-limits --example cost`.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a program for people who measure"
)]

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Instant;

use keyward_rate_limits::{
    CountedKey, Elapsed, FailedAuthentications, Quota, RequestLimits, RequestQuotas, rate_limit,
    rate_limit_policy,
};

const TURNS: u32 = 2_000_000;

/// The number of keys and addresses that take turns.
const DIFFERENT: u32 = 10_000;

fn measure(what: &str, mut act: impl FnMut(u32)) {
    for turn in 0..TURNS / 10 {
        act(turn % DIFFERENT);
    }
    let start = Instant::now();
    for turn in 0..TURNS {
        act(turn % DIFFERENT);
    }
    println!(
        "{:>5.0} ns  {what}",
        start.elapsed().as_secs_f64() * 1e9 / f64::from(TURNS)
    );
}

fn main() {
    let start = Instant::now();
    let clock: Elapsed = Arc::new(move || start.elapsed());
    let most = Quota::new(Quota::MAX_REQUESTS, 1).ok();
    let address = |number: u32| IpAddr::from(Ipv4Addr::from_bits(number));
    let key = |number: u32| CountedKey {
        key: u128::from(number) << 64,
        organization: u128::from(number % 10),
    };
    let limits = |quotas| RequestLimits::new(quotas, &clock).expect("a limit");
    let per_key = limits(RequestQuotas {
        per_key: most,
        ..RequestQuotas::default()
    });
    let all = limits(RequestQuotas {
        per_key: most,
        per_address: most,
        per_organization: most,
        per_verifier: most,
    });
    measure("one limit counts a request", |turn| {
        black_box(per_key.count_request(key(turn), None));
    });
    measure("three limits count a request", |turn| {
        black_box(all.count_request(key(turn), Some(address(turn))));
    });
    let counted = all.count_request(key(1), Some(address(1)));
    measure("the fields of three limits are written", |_| {
        black_box((rate_limit(&counted.states), rate_limit_policy(&counted.states)));
    });
    let failures = FailedAuthentications::new(Quota::new(60, 60).expect("a quota"), Arc::clone(&clock));
    measure("a token that is not accepted counts for its address", |turn| {
        let _ = black_box(failures.count(address(turn)));
    });
}

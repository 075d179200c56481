//! How property tests run: alike every time, so that a failure is there for everybody.

use proptest::test_runner::{Config, RngSeed};

/// The same cases in every run; a failing one is printed, not written to a file.
pub(crate) fn config() -> Config {
    Config {
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Config::default()
    }
}

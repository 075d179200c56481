//! Property tests run with a fixed seed, so that failures can be reproduced.

use proptest::test_runner::{Config, RngSeed};

/// The same cases in every run; a failing one is printed, not written to a file.
pub(crate) fn config() -> Config {
    Config {
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Config::default()
    }
}

//! Real time and real randomness.

use std::time::SystemTime;

use chrono::{DateTime, Utc};
use keyward_domain::clock::{Clock, whole_milliseconds};
use keyward_domain::random::Random;

/// The operating system's clock.
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the only source of the time; all other code gets a `Clock`"
    )]
    fn now(&self) -> DateTime<Utc> {
        whole_milliseconds(SystemTime::now().into())
    }
}

/// The operating system's random source.
pub struct SystemRandom;

impl Random for SystemRandom {
    fn fill(&self, buffer: &mut [u8]) {
        if let Err(error) = getrandom::fill(buffer) {
            // Tokens must never be predictable, so the process cannot continue.
            eprintln!("error: the operating system gives no random bytes: {error}");
            std::process::abort();
        }
    }
}

//! The real randomness.

use std::io::Write;
use std::process;

use keyward_domain::random::Random;
use rand::TryRng;
use rand::rngs::SysRng;

/// The operating system's random source.
pub(crate) struct OsRandom;

impl Random for OsRandom {
    fn fill(&self, buffer: &mut [u8]) {
        if let Err(error) = SysRng.try_fill_bytes(buffer) {
            // Tokens must never be predictable, so the process cannot continue.
            let _ = writeln!(
                std::io::stderr(),
                "error: the operating system gives no random bytes: {error}"
            );
            process::abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_fills_the_whole_buffer_with_different_bytes() {
        let mut first = [0_u8; 64];
        let mut second = [0_u8; 64];
        OsRandom.fill(&mut first);
        OsRandom.fill(&mut second);
        assert_ne!(first, second);
        // Eight zero bytes in a row come by chance once in 2^64.
        for piece in first.chunks(8) {
            assert_ne!(piece, [0; 8]);
        }
    }
}

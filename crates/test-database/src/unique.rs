//! Names and passwords that no other test, process or machine uses.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Sixteen hexadecimal digits from the keys that the standard library takes from the operating system for its
/// hash maps: enough for names, and for the password of a server that lives as long as a test run.
pub(crate) fn random_hex() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

/// `prefix_<process id>_<random>`: the process id tells a person whose it is.
pub(crate) fn unique_name(prefix: &str) -> String {
    format!("{prefix}_{}_{}", std::process::id(), random_hex())
}

//! The digests under which counts are stored.

use sha2::{Digest, Sha256};

/// Of the same value, different kinds have different digests.
pub(super) fn digest(kind: &str, value: &[u8]) -> [u8; 32] {
    Sha256::new()
        .chain_update(kind)
        .chain_update([0])
        .chain_update(value)
        .finalize()
        .into()
}

//! The digests under which counts are stored.

use sha2::{Digest, Sha256};

/// The digest of a value of a kind. The same value has different digests for different kinds.
pub(super) fn digest(kind: &str, value: &[u8]) -> [u8; 32] {
    Sha256::new()
        .chain_update(kind)
        .chain_update([0])
        .chain_update(value)
        .finalize()
        .into()
}

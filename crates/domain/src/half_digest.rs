//! 128 bits of SHA-256 over several texts.

use sha2::{Digest, Sha256};

/// The first half of the digest. Each text is preceded by its length, so that moving text from one to the
/// next changes the digest.
pub(crate) fn half_digest<Text: AsRef<[u8]>>(texts: impl IntoIterator<Item = Text>) -> u128 {
    let mut hash = Sha256::new();
    for text in texts {
        let text = text.as_ref();
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text);
    }
    let digest = hash.finalize();
    let half = digest.iter().take(size_of::<u128>());
    half.fold(0, |number, byte| (number << 8) | u128::from(*byte))
}

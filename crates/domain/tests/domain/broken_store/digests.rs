//! Secrets that are compared by a prefix of their digests.

use super::{BrokenStore, Fault, Secret, lock};

impl BrokenStore {
    /// Remembers the digest of a stored secret.
    pub(super) fn keep_digest(&self, secret: Secret, digest: &[u8; 32]) {
        lock(&self.stored_digests).push((secret, *digest));
    }

    /// The digest that the fault takes this one for: the first one stored that begins alike.
    pub(super) fn taken_for(&self, secret: Secret, digest: &[u8; 32]) -> [u8; 32] {
        let Fault::ComparesDigestPrefixes(bytes, compared) = self.fault else {
            return *digest;
        };
        let begins_so =
            |known: &&(Secret, [u8; 32])| known.0 == secret && known.1[..bytes] == digest[..bytes];
        let stored = lock(&self.stored_digests);
        let first = stored.iter().find(begins_so).filter(|_| compared == secret);
        first.map_or(*digest, |first| first.1)
    }
}

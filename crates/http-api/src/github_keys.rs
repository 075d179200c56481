//! The keys with which GitHub signs its reports of found tokens: ECDSA with P-256 and SHA-256.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use rustls_pki_types::SubjectPublicKeyInfoDer;
use rustls_pki_types::pem::PemObject as _;
use serde::Deserialize;
use tracing::warn;

/// The bytes before the point of a P-256 key in its `SubjectPublicKeyInfo` (RFC 5480): the algorithm, the
/// curve, and that 65 bytes of an uncompressed point follow.
const P256_PREFIX: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// GitHub's public keys, by their identifiers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitHubKeys(BTreeMap<String, Vec<u8>>);

/// Why a text names no keys. No message repeats anything of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidGitHubKeys {
    /// It is not JSON of this form.
    #[error("line {line}: expected the JSON of https://api.github.com/meta/public_keys/secret_scanning")]
    Form {
        /// The line of the error, from 1.
        line: usize,
    },
    /// One of the keys is none.
    #[error("public_keys[{index}].key must be the PEM of a public key")]
    Key {
        /// Which one, from 0.
        index: usize,
    },
    /// Two keys have one identifier.
    #[error(
        "public_keys[{index}].key_identifier is also that of a key before it: which of them signed cannot be told"
    )]
    RepeatedIdentifier {
        /// Which one, from 0.
        index: usize,
    },
    /// The list contains no usable key.
    #[error("public_keys has no ECDSA key on the curve P-256: without any, no report can be accepted")]
    Empty,
}

#[derive(Deserialize)]
struct PublicKeys {
    public_keys: Vec<PublicKey>,
}

#[derive(Deserialize)]
struct PublicKey {
    key_identifier: String,
    key: String,
}

impl GitHubKeys {
    /// Reads the JSON that GitHub serves at `/meta/public_keys/secret_scanning`. Keys that it no longer signs
    /// with are accepted, too. Keys of other kinds are skipped with a warning, so that those beside them can
    /// be used.
    ///
    /// # Errors
    /// The first defect in the file.
    pub fn parse(json: &[u8]) -> Result<Self, InvalidGitHubKeys> {
        let read: PublicKeys =
            serde_json::from_slice(json).map_err(|error| InvalidGitHubKeys::Form { line: error.line() })?;
        let (mut keys, mut identifiers) = (BTreeMap::new(), BTreeSet::new());
        for (index, PublicKey { key_identifier, key }) in read.public_keys.into_iter().enumerate() {
            if !identifiers.insert(key_identifier.clone()) {
                return Err(InvalidGitHubKeys::RepeatedIdentifier { index });
            }
            let key = SubjectPublicKeyInfoDer::from_pem_slice(key.as_bytes());
            let key = key.map_err(|_| InvalidGitHubKeys::Key { index })?;
            match p256_point(&key) {
                Some(point) => _ = keys.insert(key_identifier, point),
                None => {
                    warn!(index, "GitHub key skipped: not ECDSA P-256");
                }
            }
        }
        if keys.is_empty() {
            return Err(InvalidGitHubKeys::Empty);
        }
        Ok(Self(keys))
    }

    /// How many keys there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Whether one of the keys has this identifier.
    pub(crate) fn has(&self, identifier: &str) -> bool {
        self.0.contains_key(identifier)
    }

    /// Whether this is the key's signature of the message, in Base64.
    pub(crate) fn is_signed(&self, identifier: &str, signature: &str, message: &[u8]) -> bool {
        let Some((point, signature)) = self.0.get(identifier).zip(STANDARD.decode(signature).ok()) else {
            return false;
        };
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point);
        key.verify(message, &signature).is_ok()
    }
}

fn p256_point(key: &[u8]) -> Option<Vec<u8>> {
    let point = key.strip_prefix(&P256_PREFIX)?;
    (point.len() == 65 && point[0] == 4).then(|| point.to_vec())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A key on P-256, and one on P-384.
    const P256: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE8qN5shc+yiROiTyPNPdiKITpimde
fwUjo0mdc4izzPEV4fyNjK4IqqICvEPDsAplFVqg9QncohkLbPwO9gsW6A==
-----END PUBLIC KEY-----
";
    const P384: &str = "-----BEGIN PUBLIC KEY-----
MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEoruI/2POeK2XTJFcr90DMVEJxYVRjcZC
tmRCp/GQwIxDkrihJKDtS9niw/PnLMDjQteK8O/M93EmrI6XepdeGYVfabK2ICvz
QM0D/Mh2nlMTEhTmkOMnp6b/Na904euz
-----END PUBLIC KEY-----
";

    fn parsed(json: &Value) -> Result<usize, InvalidGitHubKeys> {
        GitHubKeys::parse(json.to_string().as_bytes()).map(|keys| keys.count())
    }

    fn with(keys: &[&str]) -> Value {
        let keys = keys.iter().enumerate();
        let keys: Vec<Value> = keys
            .map(|(index, key)| json!({"key_identifier": index.to_string(), "key": key, "is_current": true}))
            .collect();
        json!({"public_keys": keys})
    }

    #[test]
    fn keys_are_read_as_github_serves_them() {
        assert_eq!(parsed(&with(&[P256, P256])), Ok(2));
        assert_eq!(parsed(&with(&[])), Err(InvalidGitHubKeys::Empty));
        assert_eq!(
            parsed(&json!({"keys": []})),
            Err(InvalidGitHubKeys::Form { line: 1 })
        );
        let broken = GitHubKeys::parse(b"{\n\n\"public_keys\": x}");
        assert_eq!(broken, Err(InvalidGitHubKeys::Form { line: 3 }));
    }

    #[test]
    fn keys_of_another_kind_are_skipped() {
        assert_eq!(parsed(&with(&[P384, P256, &shortened(P256)])), Ok(1));
        assert_eq!(parsed(&with(&[P384])), Err(InvalidGitHubKeys::Empty));
    }

    /// A key whose point lacks its last 48 bytes.
    fn shortened(pem: &str) -> String {
        let mut lines = pem.lines();
        let (begin, first) = (lines.next().unwrap(), lines.next().unwrap());
        format!("{begin}\n{first}\n-----END PUBLIC KEY-----\n")
    }

    #[test]
    fn invalid_public_key_is_reported() {
        let private = P256.replace("PUBLIC", "PRIVATE");
        let broken = P256.replace('M', "*");
        for key in ["", "x", &private, &broken, &P256[..60]] {
            let refused = parsed(&with(&[P256, key]));
            assert_eq!(refused, Err(InvalidGitHubKeys::Key { index: 1 }), "{key}");
        }
    }

    #[test]
    fn repeated_identifier_is_refused() {
        for other in [P256, P384] {
            let mut keys = with(&[P256, P256, other]);
            keys["public_keys"][2]["key_identifier"] = json!("1");
            let refused = Err(InvalidGitHubKeys::RepeatedIdentifier { index: 2 });
            assert_eq!(parsed(&keys), refused);
        }
    }
}

//! Secrets: what logs show of them, and the random ones in links and cookies.

/// Shows only the type's name for debugging.
macro_rules! redacted {
    ($($name:ident),+) => { $(
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(concat!(stringify!($name), "(redacted)"))
            }
        }
    )+ };
}

/// Declares a secret of 32 random bytes, shown as 64 hexadecimal digits, and the SHA-256 digest that is
/// stored in its place.
macro_rules! secret_type {
    ($(#[$doc:meta])* $secret:ident, $(#[$digest_doc:meta])* $digest:ident) => {
        $(#[$doc])*
        #[derive(zeroize::Zeroize, zeroize::ZeroizeOnDrop)]
        pub struct $secret(String);

        impl $secret {
            const BYTES: usize = 32;

            /// Makes a new secret.
            #[must_use]
            pub fn generate(random: &dyn $crate::random::Random) -> Self {
                let mut bytes = zeroize::Zeroizing::new([0_u8; Self::BYTES]);
                random.fill(&mut *bytes);
                Self(hex::encode(&*bytes))
            }

            /// Parses a secret; `None` if malformed.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
                (text.len() == Self::BYTES * 2 && text.bytes().all(is_digit)).then(|| Self(text.to_owned()))
            }

            /// The secret itself, for the link or cookie that carries it.
            pub fn expose(&self) -> &str {
                &self.0
            }

            /// The digest, which is stored in place of the secret.
            #[must_use]
            pub fn digest(&self) -> $digest {
                use sha2::Digest;
                $digest(sha2::Sha256::digest(self.0.as_bytes()).into())
            }
        }

        $(#[$digest_doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $digest([u8; 32]);

        impl $digest {
            /// A digest of no known secret, for tests of code that stores digests.
            #[cfg(feature = "testing")]
            #[must_use]
            pub const fn from_bytes(bytes: [u8; 32]) -> Self {
                Self(bytes)
            }

            /// The digest as storage keeps it.
            pub const fn as_bytes(&self) -> &[u8; 32] {
                &self.0
            }
        }

        $crate::secret::redacted!($secret, $digest);
    };
}
pub(crate) use {redacted, secret_type};

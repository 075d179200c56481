//! The single use of a form.

use std::fmt;

use crate::random::Random;

/// Marks one showing of a form, so that sending it again creates no second key or invitation.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FormNonce(u128);

/// A text that is not a nonce.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a form nonce: expected 32 hexadecimal digits")]
pub struct InvalidNonce;

impl FormNonce {
    const DIGITS: usize = 32;

    /// A nonce that no other form has.
    #[must_use]
    pub fn generate(random: &dyn Random) -> Self {
        let mut bytes = [0; 16];
        random.fill(&mut bytes);
        Self(u128::from_be_bytes(bytes))
    }

    /// Reads a nonce from a sent form.
    ///
    /// # Errors
    /// The text is not 32 hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, InvalidNonce> {
        if text.len() != Self::DIGITS || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(InvalidNonce);
        }
        u128::from_str_radix(text, 16).map(Self).map_err(|_| InvalidNonce)
    }

    /// The nonce as storage keeps it.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }
}

impl fmt::Display for FormNonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for FormNonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FormNonce({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::FormNonce;
    use crate::testing::SeededRandom;

    #[test]
    fn idempotency_key_round_trips_through_text() {
        let random = SeededRandom::new(1);
        let nonce = FormNonce::generate(&random);
        assert_eq!(FormNonce::parse(&nonce.to_string()), Ok(nonce));
        assert_ne!(FormNonce::generate(&random), nonce);
    }

    #[test]
    fn idempotency_key_is_32_lowercase_hexadecimal_digits() {
        let first = FormNonce::parse(&format!("{:032x}", 1)).unwrap();
        assert_eq!(first.to_bytes(), 1_u128.to_be_bytes());
        for text in [
            String::new(),
            "0".repeat(31),
            "0".repeat(33),
            "g".repeat(32),
            format!("+{}", "0".repeat(31)),
            "é".repeat(16),
        ] {
            assert!(FormNonce::parse(&text).is_err(), "{text:?}");
        }
    }
}

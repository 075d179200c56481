//! Idempotency keys of forms.

use std::fmt;

use crate::random::Random;

/// Marks one showing of a form, so that sending it again creates nothing a second time: no second key,
/// invitation or project.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(u128);

/// A text that is not an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an idempotency key: expected 32 hexadecimal digits")]
pub struct InvalidIdempotencyKey;

impl IdempotencyKey {
    const DIGITS: usize = 32;

    /// One that no other form has.
    #[must_use]
    pub fn generate(random: &dyn Random) -> Self {
        let mut bytes = [0; 16];
        random.fill(&mut bytes);
        Self(u128::from_be_bytes(bytes))
    }

    /// Reads the hidden field of a sent form.
    ///
    /// # Errors
    /// The text is not 32 hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, InvalidIdempotencyKey> {
        if text.len() != Self::DIGITS || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(InvalidIdempotencyKey);
        }
        u128::from_str_radix(text, 16)
            .map(Self)
            .map_err(|_| InvalidIdempotencyKey)
    }

    /// As storage keeps it: 16 bytes.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IdempotencyKey({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::IdempotencyKey;
    use crate::testing::SeededRandom;

    #[test]
    fn idempotency_key_round_trips_through_text() {
        let random = SeededRandom::new(1);
        let idempotency_key = IdempotencyKey::generate(&random);
        assert_eq!(
            IdempotencyKey::parse(&idempotency_key.to_string()),
            Ok(idempotency_key)
        );
        assert_ne!(IdempotencyKey::generate(&random), idempotency_key);
    }

    #[test]
    fn idempotency_key_is_32_lowercase_hexadecimal_digits() {
        let first = IdempotencyKey::parse(&format!("{:032x}", 1)).unwrap();
        assert_eq!(first.to_bytes(), 1_u128.to_be_bytes());
        for text in [
            String::new(),
            "0".repeat(31),
            "0".repeat(33),
            "g".repeat(32),
            format!("+{}", "0".repeat(31)),
            "é".repeat(16),
        ] {
            assert!(IdempotencyKey::parse(&text).is_err(), "{text:?}");
        }
    }
}

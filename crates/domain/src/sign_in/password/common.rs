//! The list of common passwords that ships with Keyward.
//!
//! The list holds fingerprints. It is searched many times for each new password, so it is small and sorted,
//! and it does not show other people's passwords. How it is made: CONTRIBUTING.md, "Renew the list of common
//! passwords".

/// Made by [`encode`](super::common_encoding::encode) from a list whose licence lies beside it, in
/// `common_passwords.LICENSE`.
static LIST: &[u8] = include_bytes!("common_passwords.bin");

/// The most characters of anything on the list.
pub(super) const LONGEST: usize = 32;

pub(super) const FINGERPRINT: usize = 5;
pub(super) const ENTRY: usize = FINGERPRINT + 1;

/// The fingerprint of a text, built one character after the other. Two texts in a million million have the
/// same, which does no harm: one of them counts for less.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fingerprint(u64);

impl Fingerprint {
    /// The fingerprint of the empty text.
    pub(super) const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    /// The fingerprint of a text.
    pub(super) fn of(text: &str) -> Self {
        text.chars().fold(Self::EMPTY, Self::push)
    }

    /// The fingerprint of the text with one more character (FNV-1a).
    pub(super) fn push(self, character: char) -> Self {
        let mut utf8 = [0; char::MAX_LEN_UTF8];
        let bytes = character.encode_utf8(&mut utf8).bytes();
        let mixed = bytes.fold(self.0, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self(mixed)
    }

    /// The form in the list. FNV mixes the upper bits of short texts poorly, so this applies the finalizer of
    /// `MurmurHash3`.
    pub(super) fn stored(self) -> [u8; FINGERPRINT] {
        let hash = (self.0 ^ (self.0 >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        let hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        let [a, b, c, d, e, ..] = (hash ^ (hash >> 33)).to_be_bytes();
        [a, b, c, d, e]
    }

    /// The cost of guessing the text if it is on the list, in tenths of an unpredictable character.
    pub(super) fn worth(self) -> Option<u32> {
        let (entries, _) = LIST.as_chunks::<ENTRY>();
        let wanted = self.stored();
        let found = entries.binary_search_by(|[fingerprint @ .., _]| fingerprint.cmp(&wanted));
        let [.., worth] = entries.get(found.ok()?)?;
        Some(u32::from(*worth))
    }
}

#[cfg(test)]
mod tests {
    use super::{ENTRY, Fingerprint, LIST};

    fn worth(text: &str) -> Option<u32> {
        Fingerprint::of(text).worth()
    }

    #[test]
    fn password_list_has_100000_entries_in_order() {
        let (entries, rest) = LIST.as_chunks::<ENTRY>();
        assert!(entries.len() >= 100_000, "{}", entries.len());
        assert!(rest.is_empty());
        assert!(entries.is_sorted_by(|a, b| a[..5] < b[..5]));
    }

    #[test]
    fn password_list_reports_the_rank() {
        assert_eq!(worth("password"), Some(5));
        assert!(worth("monkey") < worth("northstar"));
        assert_eq!(worth("mumbling otters"), None);
        assert_eq!(worth(""), None);
    }

    #[test]
    fn common_15_character_passwords_are_listed_at_any_rank() {
        assert!(worth("1qaz2wsx3edc4rfv5tgb").is_some(), "in place 241,707");
    }
}

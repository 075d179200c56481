//! What many people use as their password, on a list that ships with Keyward.
//!
//! The list holds fingerprints. It is searched many times for each new password, so it is small and sorted, and nobody
//! reads other people's passwords in it. How it is made: CONTRIBUTING.md, "Renew the list of common passwords".

use std::collections::BTreeMap;

/// Made by [`encode`] from a list whose licence lies beside it, in `common_passwords.LICENSE`.
static LIST: &[u8] = include_bytes!("common_passwords.bin");

/// Phrases that many people know, put on the list as they are, with other gaps and with none.
static PHRASES: &str = include_str!("known_phrases.txt");

/// In tenths of an unpredictable character: there are some thousand such phrases.
const WORTH_OF_PHRASE: u8 = 30;

/// The most characters of anything on the list.
pub(super) const LONGEST: usize = 32;

/// How many of the most used passwords are on the list, and with them all that are long enough to be chosen as they are.
const SHORT_ONES: usize = 100_000;

const FINGERPRINT: usize = 5;
const ENTRY: usize = FINGERPRINT + 1;

/// A text on its way to the list, one character after the other. Two texts in a million million are taken for each
/// other, which does no harm: one of them counts for less.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fingerprint(u64);

impl Fingerprint {
    /// Of no character yet.
    pub(super) const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    /// Of a whole text.
    fn of(text: &str) -> Self {
        text.chars().fold(Self::EMPTY, Self::push)
    }

    /// Of one more character (FNV-1a).
    pub(super) fn push(self, character: char) -> Self {
        let mut utf8 = [0; char::MAX_LEN_UTF8];
        let bytes = character.encode_utf8(&mut utf8).bytes();
        let mixed = bytes.fold(self.0, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self(mixed)
    }

    /// As the list has it. FNV leaves its upper bits little mixed for short texts; this is the end of `MurmurHash3`.
    fn stored(self) -> [u8; FINGERPRINT] {
        let hash = (self.0 ^ (self.0 >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        let hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        let [a, b, c, d, e, ..] = (hash ^ (hash >> 33)).to_be_bytes();
        [a, b, c, d, e]
    }

    /// What the text is worth if it is on the list, in tenths of an unpredictable character.
    pub(super) fn worth(self) -> Option<u32> {
        let (entries, _) = LIST.as_chunks::<ENTRY>();
        let wanted = self.stored();
        let found = entries.binary_search_by(|[fingerprint @ .., _]| fingerprint.cmp(&wanted));
        let [.., worth] = entries.get(found.ok()?)?;
        Some(u32::from(*worth))
    }
}

/// The file of the list, from passwords that many people use, the most used first.
///
/// One that is tried as the thousandth is worth as much as three characters that nothing predicts: ten guesses each.
/// Those that are worth as much as their characters are left out.
pub fn encode<'a>(most_used_first: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
    let mut entries = BTreeMap::new();
    for (place, password) in (1_u32..).zip(most_used_first) {
        let folded = password.to_lowercase();
        let length = folded.chars().count();
        let worth = worth_of_place(place);
        let is_long = length >= super::Password::MIN;
        if length > LONGEST || usize::from(worth) >= 10 * length || (entries.len() >= SHORT_ONES && !is_long)
        {
            continue;
        }
        entries.entry(Fingerprint::of(&folded).stored()).or_insert(worth);
    }
    for phrase in PHRASES.lines() {
        for gap in [" ", "-", "_", ""] {
            let fingerprint = Fingerprint::of(&phrase.replace(' ', gap));
            entries.insert(fingerprint.stored(), WORTH_OF_PHRASE);
        }
    }
    let bytes = |([a, b, c, d, e], worth): ([u8; FINGERPRINT], u8)| [a, b, c, d, e, worth];
    entries.into_iter().flat_map(bytes).collect()
}

/// Ten times the logarithm of how many guesses it takes.
fn worth_of_place(place: u32) -> u8 {
    let guesses = f64::from(place) + 1.0;
    (3..=u8::MAX)
        .find(|worth| 10_f64.powf(f64::from(*worth) / 10.0) >= guesses)
        .unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::{ENTRY, Fingerprint, LIST, LONGEST, PHRASES, WORTH_OF_PHRASE, encode, worth_of_place};

    fn worth(text: &str) -> Option<u32> {
        Fingerprint::of(text).worth()
    }

    #[test]
    fn the_list_has_a_hundred_thousand_passwords_in_order() {
        let (entries, rest) = LIST.as_chunks::<ENTRY>();
        assert!(entries.len() >= 100_000, "{}", entries.len());
        assert!(rest.is_empty());
        assert!(entries.is_sorted_by(|a, b| a[..5] < b[..5]));
    }

    #[test]
    fn the_list_tells_how_soon_a_password_is_tried() {
        assert_eq!(worth("password"), Some(5));
        assert!(worth("monkey") < worth("northstar"));
        assert_eq!(worth("mumbling otters"), None);
        assert_eq!(worth(""), None);
    }

    #[test]
    fn passwords_of_fifteen_characters_are_listed_however_rare() {
        assert!(worth("1qaz2wsx3edc4rfv5tgb").is_some(), "in place 241,707");
    }

    #[test]
    fn a_password_is_worth_as_many_digits_as_its_place_has() {
        assert_eq!([1, 9, 99, 99_999].map(worth_of_place), [4, 10, 20, 50]);
    }

    #[test]
    fn phrases_are_on_the_list_with_any_gaps() {
        for phrase in PHRASES.lines() {
            assert!(phrase.chars().count() <= LONGEST, "{phrase}");
            assert_eq!(phrase.to_lowercase(), phrase);
            for gap in [" ", "-", "_", ""] {
                let text = phrase.replace(' ', gap);
                assert_eq!(worth(&text), Some(u32::from(WORTH_OF_PHRASE)), "{text}");
            }
        }
    }

    #[test]
    fn a_list_is_folded_and_keeps_only_what_is_of_use() {
        let without = encode([]).len();
        let tried_tenth = "a";
        let mut texts = ["SECRET"; 9].to_vec();
        texts.extend([tried_tenth, "Secret", "longer than any password on any list"]);
        let list = encode(texts);
        assert_eq!(list.len(), without + ENTRY);
        let (entries, _) = list.as_chunks::<ENTRY>();
        assert!(
            entries
                .iter()
                .any(|entry| entry[..5] == Fingerprint::of("secret").stored())
        );
    }
}

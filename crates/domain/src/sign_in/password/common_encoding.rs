//! How the list of common passwords is made from their texts.

use std::collections::BTreeMap;

use super::Password;
use super::common::{FINGERPRINT, Fingerprint, LONGEST};

/// Well-known phrases, which are listed with spaces, with other separators and without any.
static PHRASES: &str = include_str!("known_phrases.txt");

/// In tenths of an unpredictable character: there are some thousand such phrases.
const WORTH_OF_PHRASE: u8 = 30;

/// How many of the most used passwords are on the list, and with them all that are long enough to be chosen
/// as they are.
const SHORT_ONES: usize = 100_000;

/// The file of the list, from passwords that many people use, the most used first.
///
/// One that is tried as the thousandth is worth as much as three characters that nothing predicts: ten
/// guesses each. Those that are worth as much as their characters are left out.
pub fn encode<'a>(most_used_first: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
    let mut entries = BTreeMap::new();
    for (place, password) in (1_u32..).zip(most_used_first) {
        let folded = password.to_lowercase();
        let length = folded.chars().count();
        let worth = worth_of_place(place);
        let is_long = length >= Password::MIN;
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
    use super::{Fingerprint, LONGEST, PHRASES, WORTH_OF_PHRASE, encode, worth_of_place};
    use crate::sign_in::password::common::ENTRY;

    #[test]
    fn password_worth_equals_the_digits_of_its_rank() {
        assert_eq!([1, 9, 99, 99_999].map(worth_of_place), [4, 10, 20, 50]);
    }

    #[test]
    fn phrases_are_listed_with_any_separator() {
        for phrase in PHRASES.lines() {
            assert!(phrase.chars().count() <= LONGEST, "{phrase}");
            assert_eq!(phrase.to_lowercase(), phrase);
            for gap in [" ", "-", "_", ""] {
                let text = phrase.replace(' ', gap);
                assert_eq!(
                    Fingerprint::of(&text).worth(),
                    Some(u32::from(WORTH_OF_PHRASE)),
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn password_list_is_folded_and_reduced_to_useful_entries() {
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

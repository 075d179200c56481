//! Estimates how hard a password is to guess by trying the likely ones first.
//!
//! A password is cut into pieces in the cheapest possible way: common passwords, known names, years,
//! repetitions, runs over the keyboard or the alphabet, and single characters. A character that nothing
//! predicts counts for ten guesses (as in Wheeler, "zxcvbn", USENIX Security 2016); every other piece counts
//! for as many such characters as its guesses have digits.

use zeroize::Zeroizing;

use super::common::{self, Fingerprint};
use super::keyboard::{LAYOUTS, Layout};

/// Worths are in tenths of an unpredictable character.
const CHARACTER: u32 = 10;
/// A password that takes fewer guesses than a hundred million is guessed from its stolen hash.
const ENOUGH: u32 = 8 * CHARACTER;
/// The cost of one of the last two hundred years.
const YEAR: u32 = 20;
/// The cost of what is tried first: names, and repetitions.
const NAME: u32 = 5;
const COPY: u32 = 5;
/// The cost of a run's start and direction, in tenths of an unpredictable character.
const RUN: u32 = 10;
const TURN: u32 = 4;
/// The cost of digits and signs in place of letters.
const DISGUISE: u32 = 3;
/// The minimum length of a pattern.
const SHORTEST: usize = 3;

/// Whether a password can be guessed from common passwords and these names.
pub(super) fn is_guessable(password: &str, names: &[&str]) -> bool {
    let folded = Zeroizing::new(password.to_lowercase());
    // Reserves the final size: growing would leave copies behind that are not wiped.
    let mut text = Zeroizing::new(Vec::with_capacity(folded.len()));
    text.extend(folded.chars());
    let names: Vec<Vec<char>> = names.iter().flat_map(|name| words_of(name)).collect();
    let readings: Vec<Zeroizing<Vec<char>>> = ['i', 'l']
        .into_iter()
        .map(|one| Zeroizing::new(text.iter().map(|sign| undisguised(*sign, one)).collect()))
        .filter(|reading| *reading != text)
        .collect();
    let longest_copies = longest_copies(&text);
    let mut cheapest = Cheapest::of(text.len());
    for at in 0..text.len() {
        // Pieces only add to the cost, so every password that continues from here is hard enough.
        if cheapest.until(at) >= ENOUGH {
            continue;
        }
        let rest = &text[at..];
        cheapest.add(at, 1, CHARACTER);
        add_year(&mut cheapest, at, rest);
        add_known(&mut cheapest, at, rest, &names, 0);
        for reading in &readings {
            add_known(&mut cheapest, at, &reading[at..], &names, DISGUISE);
        }
        // What stood before once more.
        for length in SHORTEST..=longest_copies[at] {
            cheapest.add(at, length, COPY);
        }
        add_alphabet(&mut cheapest, at, rest);
        for layout in &LAYOUTS {
            add_keyboard(&mut cheapest, at, rest, layout);
        }
    }
    cheapest.until(text.len()) < ENOUGH
}

/// The minimum cost of guessing each beginning of a password.
struct Cheapest(Vec<u32>);

impl Cheapest {
    fn of(length: usize) -> Self {
        let mut worths = vec![ENOUGH; length + 1];
        worths[0] = 0;
        Self(worths)
    }

    fn until(&self, end: usize) -> u32 {
        self.0.get(end).copied().unwrap_or(ENOUGH)
    }

    /// There is a piece from here on.
    fn add(&mut self, at: usize, length: usize, worth: u32) {
        let with_piece = self.until(at).saturating_add(worth);
        if let Some(until) = self.0.get_mut(at + length) {
            *until = with_piece.min(*until);
        }
    }
}

/// A name without its gaps, and its words.
fn words_of(name: &str) -> Vec<Vec<char>> {
    let folded = name.to_lowercase();
    let words = || folded.split(|sign: char| !sign.is_alphanumeric());
    let mut all: Vec<Vec<char>> = words()
        .map(|word| word.chars().collect::<Vec<_>>())
        .filter(|word| word.len() >= SHORTEST)
        .collect();
    all.push(words().flat_map(str::chars).collect());
    all.push(folded.chars().collect());
    all.retain(|word| word.len() > 1);
    all
}

/// The letter that a digit or sign resembles.
const fn undisguised(sign: char, one: char) -> char {
    match sign {
        '@' | '4' => 'a',
        '3' => 'e',
        '1' | '!' | '|' => one,
        '0' => 'o',
        '$' | '5' => 's',
        '7' | '+' => 't',
        other => other,
    }
}

fn add_year(cheapest: &mut Cheapest, at: usize, rest: &[char]) {
    if let ['1', '9', decade, year, ..] | ['2', '0', decade, year, ..] = rest
        && decade.is_ascii_digit()
        && year.is_ascii_digit()
    {
        cheapest.add(at, 4, YEAR);
    }
}

/// Names, and what many people use.
fn add_known(cheapest: &mut Cheapest, at: usize, rest: &[char], names: &[Vec<char>], disguise: u32) {
    for name in names.iter().filter(|name| rest.starts_with(name)) {
        cheapest.add(at, name.len(), NAME + disguise);
    }
    let mut fingerprint = Fingerprint::EMPTY;
    for (before, character) in rest.iter().take(common::LONGEST).enumerate() {
        fingerprint = fingerprint.push(*character);
        if let Some(worth) = fingerprint.worth() {
            cheapest.add(at, before + 1, worth + disguise);
        }
    }
}

/// How much of what follows each character, that one included, stood before. It may reach into itself:
/// `abcabcabcabc`.
fn longest_copies(text: &[char]) -> Vec<usize> {
    let mut longest = vec![0; text.len()];
    // What is the same from the next character and each earlier one's next on.
    let mut same_from_next = vec![0; text.len() + 1];
    for at in (0..text.len()).rev() {
        for earlier in 0..at {
            let same = if text[earlier] == text[at] {
                same_from_next[earlier + 1] + 1
            } else {
                0
            };
            same_from_next[earlier] = same;
            longest[at] = longest[at].max(same);
        }
    }
    longest
}

/// `abcdef` and `987654`.
fn add_alphabet(cheapest: &mut Cheapest, at: usize, rest: &[char]) {
    let [first, second, ..] = rest else { return };
    let direction = i64::from(u32::from(*second)) - i64::from(u32::from(*first));
    if !matches!(direction, -1 | 1) {
        return;
    }
    let goes_on = |[from, to]: &[char; 2]| {
        from.is_alphanumeric()
            && to.is_alphanumeric()
            && i64::from(u32::from(*to)) - i64::from(u32::from(*from)) == direction
    };
    let steps = rest.array_windows().take_while(|pair| goes_on(pair)).count();
    for length in SHORTEST..=steps + 1 {
        cheapest.add(at, length, RUN);
    }
}

/// Runs from key to neighbouring key. Continuing in a direction, or to and fro, is no turn.
fn add_keyboard(cheapest: &mut Cheapest, at: usize, rest: &[char], layout: &Layout) {
    let (mut last, mut before_last) = (None, None);
    let mut worth = RUN;
    for (length, [from, to]) in (2..).zip(rest.array_windows()) {
        let Some(step) = layout.step(*from, *to) else {
            return;
        };
        if last.is_some_and(|last| last != step) && before_last != Some(step) {
            worth += TURN;
        }
        if worth >= ENOUGH {
            return;
        }
        (before_last, last) = (last, Some(step));
        if length >= SHORTEST {
            cheapest.add(at, length, worth);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_guessable;
    use crate::random::Random;
    use crate::testing::SeededRandom;

    fn guessable(password: &str) -> bool {
        let names = [
            "ada",
            "Ada Lovelace",
            "Analytical Engines Ltd",
            "analytical-engines",
            "keyward",
        ];
        is_guessable(password, &names)
    }

    #[test]
    fn padded_common_password_is_guessable() {
        for password in [
            "passwordpassword1",
            "Password2026!!!!!",
            "P@ssw0rdP@ssw0rd",
            "welcome12345678!",
            "Summer2026Summer2026",
            "mypasswordis12345",
            "liverpoolliverpool",
            "letmein letmein letmein",
            "iloveyouforever123",
            "!!!!!Dragon!!!!!",
            "1111111111monkey",
            "CorrectHorseBatteryStaple1!",
            "to-be-or-not-to-be",
            "may the force be with you",
        ] {
            assert!(guessable(password), "{password}");
        }
    }

    #[test]
    fn common_password_of_sufficient_length_is_guessable() {
        for password in [
            "1q2w3e4r5t6y7u8i",
            "123456789qwertyuiop",
            "administrator123",
            "thisismypassword",
            "zaq12wsxcde34rfv",
        ] {
            assert!(guessable(password), "{password}");
        }
    }

    #[test]
    fn padded_known_name_is_guessable() {
        for password in [
            "AdaLovelace2026!",
            "ada.lovelace.1815",
            "4d4l0v3l4c3 4d4l0v3l4c3",
            "AnalyticalEngines#1",
            "analytical-engines-2026",
            "ltdltdltdltdltdltd",
            "engines for ada!",
            "keyward-keyward-keyward",
            "Keyward-2026-Keyward",
        ] {
            assert!(guessable(password), "{password}");
        }
    }

    #[test]
    fn keyboard_and_alphabet_runs_are_guessable() {
        for password in [
            "qwertyuiop12345",
            "asdfghjkl;'asdfghjkl;'",
            "1q2w3e4r5t6y7u8i9o0p",
            "6yhn7ujm8ik,9ol.",
            "abcdefghijklmnopqrstuvwxyz",
            "zyxwvutsrqponmlk",
            "qwertzuiopüasdfg",
            "azertyuiopqsdfgh",
            "йцукенгшщзхъфыва",
            "!@#$%^&*()!@#$%^&*()",
        ] {
            assert!(guessable(password), "{password}");
        }
    }

    #[test]
    fn repeated_part_counts_once() {
        assert!(guessable(&"xkqzvwj".repeat(9)));
        assert!(guessable(&"🦀🐢🦊".repeat(5)));
        assert!(
            !guessable("xkqzvwjb-xkqzvwjb"),
            "nine characters that nothing predicts"
        );
    }

    #[test]
    fn unrelated_words_and_random_characters_are_hard_to_guess() {
        for password in [
            "quiet otters read maps",
            "quietottersreadmaps",
            "walrus-tangerine",
            "съешь ещё этих булок",
            "Je mange des pommes bleues",
            "àéîõüàñçøßåêìôù",
            "kT9#vQ2!mZx7@pLw",
            "839201746592038",
            "🦀🐢🦊🐼🐙🦉🐝🦋🐳🐘🦒🦔🐧🐨🦁",
        ] {
            assert!(!guessable(password), "{password}");
        }
    }

    #[test]
    fn random_texts_of_twenty_characters_are_hard_to_guess() {
        let random = SeededRandom::new(1);
        for _ in 0..300 {
            let mut bytes = [0; 20];
            random.fill(&mut bytes);
            let text: String = bytes.iter().map(|byte| char::from(b'!' + byte % 94)).collect();
            assert!(!guessable(&text), "{text}");
        }
    }

    #[test]
    fn long_repetitive_text_is_evaluated_to_its_end() {
        for pattern in [
            "a",
            "password",
            "pa55w0rd!",
            "1!1!il",
            "lovemonkey1i!",
            "qwertyuiop[]",
        ] {
            let text: String = pattern.chars().cycle().take(256).collect();
            assert!(guessable(&text), "{pattern}");
            assert!(!guessable(&(text + "kT9#vQ7_xM")), "{pattern}");
        }
    }

    #[test]
    fn empty_password_is_guessable() {
        assert!(guessable(""));
        assert!(is_guessable("", &[]));
        assert!(is_guessable(" ", &["", " ", "-"]));
    }
}

//! The texts that names and descriptions may have.
//!
//! Text is brought to Unicode Normalization Form C (UAX #15) and trimmed once, at the edge; inside, it is
//! valid. Every script and emoji is welcome. Control characters, the marks that reorder the text around them
//! ("Trojan Source", CVE-2021-42574), and invisible characters are refused rather than removed, so that the
//! stored text is the one that was typed. A token is also refused, because others read these texts.

mod characters;
mod error;

use unicode_normalization::UnicodeNormalization;

use crate::token::Token;

pub use error::TextError;

/// How many lines a text may have.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    /// One line of 1 to `max` code points.
    OneLine,
    /// Any number of lines, 0 to `max` code points in all; CRLF counts and is kept as one line feed.
    Lines,
}

impl Form {
    /// Checks a new text.
    pub(crate) fn written(self, raw: &str, max: usize) -> Result<String, TextError> {
        let text = self.normalized(raw);
        self.check_lines(&text)?;
        characters::check(&text)?;
        if Token::is_in(&text) {
            return Err(TextError::HoldsToken);
        }
        check_length(&text, max)?;
        Ok(text)
    }

    /// Checks a stored text. A rule that became stricter must not make it unreadable, so only the rules of
    /// every version are checked.
    pub(crate) fn stored(self, text: String, max: usize) -> Result<String, TextError> {
        self.check_lines(&text)?;
        characters::check_for_controls(&text)?;
        check_length(&text, max)?;
        Ok(text)
    }

    /// Checks a search term: a part of a text may have no letter, or only half of an emoji.
    pub(crate) fn searched(self, raw: &str, max: usize) -> Result<String, TextError> {
        let text = self.normalized(raw);
        if Token::is_in(&text) {
            return Err(TextError::HoldsToken);
        }
        self.stored(text, max)
    }

    fn normalized(self, raw: &str) -> String {
        match self {
            Self::OneLine => in_nfc(raw),
            Self::Lines => in_nfc(&raw.replace("\r\n", "\n")),
        }
    }

    fn check_lines(self, text: &str) -> Result<(), TextError> {
        match self {
            Self::OneLine if text.is_empty() => Err(TextError::Empty),
            Self::OneLine if text.chars().any(breaks_line) => Err(TextError::SeveralLines),
            Self::OneLine | Self::Lines => Ok(()),
        }
    }
}

/// The text in the form that searching compares: lower case, normalized.
///
/// Each letter is folded by itself, so that a part of a word folds like the whole word: the two small sigmas
/// of Greek, one of which only ends words, are one letter here.
#[must_use]
pub fn folded(text: &str) -> String {
    text.nfkc()
        .flat_map(char::to_lowercase)
        .map(|c| if c == 'ς' { 'σ' } else { c })
        .nfkc()
        .collect()
}

/// A typed search term in the form of [`folded`] texts, trimmed; `None` if it is empty.
pub(crate) fn search_term(typed: &str) -> Option<String> {
    let term = folded(typed.trim());
    (!term.is_empty()).then_some(term)
}

/// Whether the name is all of the first or last line of a search text, where names stand.
pub(crate) fn is_named(search_text: &str, name: &str) -> bool {
    let is_first = |rest: &str| rest.is_empty() || rest.starts_with('\n');
    let is_last = |rest: &str| rest.ends_with('\n');
    search_text.strip_prefix(name).is_some_and(is_first)
        || search_text.strip_suffix(name).is_some_and(is_last)
}

fn in_nfc(raw: &str) -> String {
    raw.nfc().collect::<String>().trim().to_owned()
}

fn check_length(text: &str, max: usize) -> Result<(), TextError> {
    match text.chars().count() {
        actual if actual > max => Err(TextError::TooLong { max, actual }),
        _ => Ok(()),
    }
}

fn breaks_line(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\u{0B}' | '\u{0C}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// Declares a text type that can only hold what its rule accepts.
macro_rules! text_type {
    ($(#[$doc:meta])* $name:ident, max $max:literal, $form:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub struct $name(String);

        impl $name {
            /// The most code points allowed.
            pub const MAX: usize = $max;

            /// Normalizes, trims and checks a new text.
            ///
            /// # Errors
            /// Says which rule the text breaks.
            pub fn parse(raw: &str) -> Result<Self, $crate::text::TextError> {
                $crate::text::Form::$form.written(raw, Self::MAX).map(Self)
            }

            /// Reads a stored text unchanged, even if later versions refuse it as a new one.
            ///
            /// # Errors
            /// No version can have accepted the text.
            pub fn from_storage(text: impl Into<String>) -> Result<Self, $crate::text::TextError> {
                $crate::text::Form::$form.stored(text.into(), Self::MAX).map(Self)
            }

            /// The text as it was checked: trimmed and in NFC.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        $crate::text::displayed!($name);
    };
}

/// Displays a type as the text that it holds.
macro_rules! displayed {
    ($name:ident) => {
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}
pub(crate) use {displayed, text_type};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Form, TextError, folded};

    fn one_line(raw: &str, max: usize) -> Result<String, TextError> {
        Form::OneLine.written(raw, max)
    }

    fn lines(raw: &str, max: usize) -> Result<String, TextError> {
        Form::Lines.written(raw, max)
    }

    #[test]
    fn text_is_trimmed_and_normalized() {
        assert_eq!(one_line("  e\u{301}tude \u{3000}\n", 10).unwrap(), "\u{e9}tude");
        assert_eq!(lines("\r\n a\r\nb \n", 10).unwrap(), "a\nb");
    }

    #[test]
    fn only_descriptions_may_be_empty_or_multiline() {
        for empty in ["", " ", "\t\n", "\u{3000}"] {
            assert_eq!(one_line(empty, 10), Err(TextError::Empty));
            assert_eq!(lines(empty, 10).unwrap(), "");
        }
        for line_break in [
            "\n", "\r", "\r\n", "\u{0B}", "\u{0C}", "\u{85}", "\u{2028}", "\u{2029}",
        ] {
            let text = format!("a{line_break}b");
            assert_eq!(one_line(&text, 10), Err(TextError::SeveralLines), "{text:?}");
        }
    }

    #[test]
    fn length_is_counted_in_code_points_after_normalization() {
        assert_eq!(one_line(&"🦀".repeat(5), 5).unwrap().chars().count(), 5);
        assert_eq!(one_line(&"e\u{301}".repeat(5), 5).unwrap().chars().count(), 5);
        assert_eq!(
            one_line(&"x".repeat(6), 5),
            Err(TextError::TooLong { max: 5, actual: 6 })
        );
        assert_eq!(lines("a\r\nb", 3).unwrap().chars().count(), 3);
    }

    #[test]
    fn control_characters_and_bidirectional_overrides_are_rejected() {
        let controls = (0..=0x1f).chain(0x7f..=0x9f).filter(|&c| c != 0x0a);
        let overrides = (0x202a..=0x202e).chain(0x2066..=0x2069);
        for code_point in controls.chain(overrides) {
            let text = format!("a{}b", char::from_u32(code_point).unwrap());
            assert_eq!(
                lines(&text, 10),
                Err(TextError::ForbiddenCharacter { code_point }),
                "U+{code_point:04X}"
            );
            assert!(one_line(&text, 10).is_err(), "U+{code_point:04X}");
        }
    }

    #[test]
    fn every_script_and_emoji_is_accepted() {
        for text in [
            "Größe",
            "שלום עולם",
            "مرحبا بالعالم",
            "नमस्ते",
            "日本語",
            "👩‍👩‍👧‍👦",
            "<script>",
        ] {
            assert_eq!(one_line(text, 100).unwrap(), text);
        }
    }

    #[test]
    fn complete_tokens_in_texts_are_rejected() {
        let token = "kwp_0123456789ABCDEFGHIJKLMNOPQRSTUV1ggZdL";
        for text in [token.to_owned(), format!("use {token}!"), format!("kwp_{token}0")] {
            assert_eq!(one_line(&text, 100), Err(TextError::HoldsToken), "{text}");
            assert_eq!(lines(&text, 100), Err(TextError::HoldsToken), "{text}");
        }
        let mistyped = token.replace("ZdL", "ZdM");
        for text in [&mistyped, "kwp_", "kwp_…gZdL", &token[..41]] {
            assert_eq!(one_line(text, 100).unwrap(), text);
        }
    }

    #[test]
    fn stored_texts_rejected_by_current_rules_are_read_unchanged() {
        let token = "kwp_0123456789ABCDEFGHIJKLMNOPQRSTUV1ggZdL";
        for text in [
            "a\u{200b}",
            "a\u{ad}b",
            "\u{3164}",
            "a\u{200f}b",
            "\u{fdd0}",
            " e\u{301} ",
            token,
        ] {
            assert_ne!(one_line(text, 100).as_deref(), Ok(text), "{text:?}");
            assert_eq!(Form::OneLine.stored(text.to_owned(), 100).as_deref(), Ok(text));
            assert_eq!(Form::Lines.stored(text.to_owned(), 100).as_deref(), Ok(text));
        }
    }

    #[test]
    fn stored_texts_accepted_by_no_version_are_rejected() {
        let stored = |form: Form, text: &str| form.stored(text.to_owned(), 5);
        assert_eq!(stored(Form::OneLine, ""), Err(TextError::Empty));
        assert_eq!(stored(Form::OneLine, "a\nb"), Err(TextError::SeveralLines));
        let bell = TextError::ForbiddenCharacter { code_point: 7 };
        assert_eq!(stored(Form::Lines, "a\u{7}"), Err(bell));
        let too_long = TextError::TooLong { max: 5, actual: 6 };
        assert_eq!(stored(Form::Lines, "123456"), Err(too_long));
    }

    #[test]
    fn rejections_state_what_to_change() {
        let said = |refused: Result<String, TextError>| refused.unwrap_err().to_string();
        assert_eq!(said(one_line("", 5)), "must not be empty");
        assert_eq!(said(one_line("a\nb", 5)), "must be a single line");
        assert_eq!(
            said(one_line("123456", 5)),
            "must be at most 5 characters long, not 6"
        );
        assert_eq!(said(one_line("a\0b", 5)), "must not contain the character U+0000");
        assert_eq!(
            said(lines("a\u{202e}b", 5)),
            "must not contain the character U+202E"
        );
    }

    #[test]
    fn folding_ignores_case_and_width() {
        assert_eq!(folded("Straße ＡＢＣ Ключ"), "straße abc ключ");
        assert_eq!(folded("E\u{301}"), folded("é"));
    }

    #[test]
    fn folding_is_independent_of_word_boundaries() {
        assert!(folded("ΟΔΟΣΗΜΑΝΣΗ").contains(&folded("ΟΔΟΣ")));
        assert!(folded("ΟΔΟΣ").contains(&folded("οδοσ")));
        assert!(folded("οδός").contains(&folded("ΌΣ")));
    }

    proptest! {
        #![proptest_config(crate::property_tests::config())]

        #[test]
        fn parsed_text_parses_to_itself(raw in any::<String>()) {
            if let Ok(text) = one_line(&raw, 50) {
                prop_assert_eq!(one_line(&text, 50), Ok(text));
            }
            if let Ok(text) = lines(&raw, 50) {
                prop_assert_eq!(lines(&text, 50), Ok(text));
            }
        }

        #[test]
        fn folded_text_folds_to_itself(raw in "\\PC{0,20}") {
            let once = folded(&raw);
            prop_assert_eq!(folded(&once), once);
        }
    }
}

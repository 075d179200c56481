//! What people may write into names and descriptions.
//!
//! Text is brought to Unicode Normalization Form C (UAX #15) and trimmed once, at the edge; inside, it is valid.
//! Every script and emoji is welcome. Control characters, and the marks that reorder the text around them
//! ("Trojan Source", CVE-2021-42574), are refused rather than removed, so nobody stores what they did not write.

use unicode_normalization::UnicodeNormalization;

/// Why a text was refused. The words are meant for the person who wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// Nothing but white space.
    #[error("must not be empty")]
    Empty,
    /// More than `max` code points.
    #[error("must be at most {max} characters long, not {actual}")]
    TooLong {
        /// The most code points allowed.
        max: usize,
        /// How many there were after normalization and trimming.
        actual: usize,
    },
    /// A line break where one line is expected.
    #[error("must be a single line")]
    SeveralLines,
    /// A control character or a bidirectional override.
    #[error("must not contain the character U+{code_point:04X}")]
    ForbiddenCharacter {
        /// The first such character.
        code_point: u32,
    },
}

/// One line of 1 to `max` code points.
pub(crate) fn one_line(raw: &str, max: usize) -> Result<String, TextError> {
    let text = normalized(raw);
    if text.is_empty() {
        return Err(TextError::Empty);
    }
    if text.chars().any(breaks_line) {
        return Err(TextError::SeveralLines);
    }
    checked(text, max)
}

/// Any number of lines, 0 to `max` code points in all; CRLF counts and is kept as one line feed.
pub(crate) fn lines(raw: &str, max: usize) -> Result<String, TextError> {
    checked(normalized(&raw.replace("\r\n", "\n")), max)
}

/// The text in the form that searching compares: lower case, normalized.
#[must_use]
pub fn folded(text: &str) -> String {
    text.nfkc().collect::<String>().to_lowercase().nfkc().collect()
}

fn normalized(raw: &str) -> String {
    raw.nfc().collect::<String>().trim().to_owned()
}

fn checked(text: String, max: usize) -> Result<String, TextError> {
    if let Some(forbidden) = text.chars().find(|&c| is_forbidden(c)) {
        return Err(TextError::ForbiddenCharacter {
            code_point: u32::from(forbidden),
        });
    }
    let actual = text.chars().count();
    if actual > max {
        return Err(TextError::TooLong { max, actual });
    }
    Ok(text)
}

fn breaks_line(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\u{0B}' | '\u{0C}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

fn is_forbidden(c: char) -> bool {
    (c.is_control() && c != '\n') || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Declares a text type that can only hold what its rule accepts.
macro_rules! text_type {
    ($(#[$doc:meta])* $name:ident, max $max:literal, $rule:path) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub struct $name(String);

        impl $name {
            /// The most code points allowed.
            pub const MAX: usize = $max;

            /// Reads what a person wrote: normalizes, trims and checks it.
            ///
            /// # Errors
            /// Says which rule the text breaks.
            pub fn parse(raw: &str) -> Result<Self, $crate::text::TextError> {
                $rule(raw, Self::MAX).map(Self)
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}
pub(crate) use text_type;

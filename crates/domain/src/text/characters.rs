//! The characters that a text may have, so that people see exactly the stored text.
//!
//! Refused are control characters, what reorders the text around it, noncharacters, and every code point with
//! Unicode's property `Default_Ignorable_Code_Point`, which is drawn as nothing. Some of the latter are how
//! words and emoji are written, and welcome where they are (UAX #31, section 2.3; UTS #51): joiners in Arabic
//! and Indic words, the selectors of Han, Mongolian and emoji, and the tags of three flags.

use unicode_normalization::char::canonical_combining_class;
use unicode_properties::{GeneralCategory, UnicodeEmoji, UnicodeGeneralCategory};

use super::error::TextError;

/// The most combining marks in a row. Words have up to five, in pointed Hebrew; more are drawn over other
/// lines.
pub(super) const MAX_MARKS: usize = 6;

/// Checks a normalized text; an empty one passes.
///
/// # Errors
/// It has a character that it may not have, too many marks in a row, or nothing that can be seen.
pub(super) fn check(text: &str) -> Result<(), TextError> {
    if text.is_empty() {
        return Ok(());
    }
    let characters: Vec<char> = text.chars().collect();
    let (mut is_visible, mut marks) = (false, 0);
    for (at, &c) in characters.iter().enumerate() {
        if is_refused(c) || is_ignorable(c) && !is_written_with(&characters, at) {
            return Err(TextError::ForbiddenCharacter {
                code_point: u32::from(c),
            });
        }
        marks = match c {
            c if is_mark(c) => marks + 1,
            c if is_ignorable(c) => marks,
            _ => 0,
        };
        if marks > MAX_MARKS {
            return Err(TextError::TooManyMarks { max: MAX_MARKS });
        }
        is_visible = is_visible || can_be_seen(c);
    }
    if is_visible {
        Ok(())
    } else {
        Err(TextError::Invisible)
    }
}

/// Checks a stored text for characters that no version has accepted.
///
/// # Errors
/// It has a control character that is no line feed.
pub(super) fn check_for_controls(text: &str) -> Result<(), TextError> {
    match text.chars().find(|&c| is_control(c)) {
        Some(c) => Err(TextError::ForbiddenCharacter {
            code_point: u32::from(c),
        }),
        None => Ok(()),
    }
}

fn is_control(c: char) -> bool {
    c.is_control() && c != '\n'
}

/// Never welcome, wherever it stands.
fn is_refused(c: char) -> bool {
    let code_point = u32::from(c);
    let is_noncharacter = matches!(code_point, 0xFDD0..=0xFDEF) || code_point & 0xFFFE == 0xFFFE;
    // The characters of interlinear annotations are invisible, too, although they are not ignorable.
    let is_annotation = matches!(c, '\u{FFF9}'..='\u{FFFB}');
    is_control(c) || is_noncharacter || is_annotation
}

/// `Default_Ignorable_Code_Point` of Unicode 17 (DerivedCoreProperties.txt), which includes code points that
/// are not assigned yet; among them are the direction marks, overrides and isolates.
fn is_ignorable(c: char) -> bool {
    matches!(
        c,
        '\u{AD}'
            | '\u{34F}'
            | '\u{61C}'
            | '\u{115F}'..='\u{1160}'
            | '\u{17B4}'..='\u{17B5}'
            | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}'
            | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{3164}'
            | '\u{FE00}'..='\u{FE0F}'
            | '\u{FEFF}'
            | '\u{FFA0}'
            | '\u{FFF0}'..='\u{FFF8}'
            | '\u{1BCA0}'..='\u{1BCA3}'
            | '\u{1D173}'..='\u{1D17A}'
            | '\u{E0000}'..='\u{E0FFF}'
    )
}

const ZERO_WIDTH_NON_JOINER: char = '\u{200C}';
const ZERO_WIDTH_JOINER: char = '\u{200D}';
const TEXT_STYLE: char = '\u{FE0E}';
const EMOJI_STYLE: char = '\u{FE0F}';

/// Whether an ignorable character is how the text around it is written.
fn is_written_with(text: &[char], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).and_then(|before| text.get(before)).copied() else {
        return false;
    };
    let after = text.get(at + 1).copied();
    match text[at] {
        ZERO_WIDTH_NON_JOINER => {
            let letter = last_letter(&text[..at]);
            is_virama(before) && after.is_some_and(is_letter_or_mark)
                || letter.is_some_and(is_joining) && after.is_some_and(is_joining)
        }
        ZERO_WIDTH_JOINER => {
            is_virama(before)
                || last_letter(&text[..at]).is_some_and(is_joining)
                || ends_emoji(before) && after.is_some_and(is_pictograph)
        }
        TEXT_STYLE | EMOJI_STYLE => before.is_emoji_char(),
        '\u{FE00}'..='\u{FE02}' | '\u{E0100}'..='\u{E01EF}' => is_han(before),
        '\u{180B}'..='\u{180F}' => matches!(before, '\u{1820}'..='\u{18AA}'),
        '\u{E0020}'..='\u{E007F}' => is_in_flag(text, at),
        _ => false,
    }
}

fn is_mark(c: char) -> bool {
    // Selectors are marks that are drawn as nothing.
    !c.is_ascii() && !is_ignorable(c) && is_mark_of_any_kind(c)
}

fn is_mark_of_any_kind(c: char) -> bool {
    use GeneralCategory::{EnclosingMark, NonspacingMark, SpacingMark};
    matches!(c.general_category(), EnclosingMark | NonspacingMark | SpacingMark)
}

/// Marks need something to stand on, and private characters are drawn as nothing in most fonts.
fn can_be_seen(c: char) -> bool {
    use GeneralCategory::{
        Control, Format, LineSeparator, ParagraphSeparator, PrivateUse, SpaceSeparator, Surrogate,
    };
    const BRAILLE_BLANK: char = '\u{2800}';
    if c.is_ascii() {
        return c.is_ascii_graphic();
    }
    let is_nothing = matches!(
        c.general_category(),
        Control | Format | LineSeparator | ParagraphSeparator | PrivateUse | SpaceSeparator | Surrogate
    );
    !is_nothing && !is_mark_of_any_kind(c) && !is_ignorable(c) && c != BRAILLE_BLANK
}

fn is_letter_or_mark(c: char) -> bool {
    c.is_alphabetic() || is_mark(c)
}

/// The letter before some marks.
fn last_letter(text: &[char]) -> Option<char> {
    text.iter().rev().copied().find(|&c| !is_mark(c))
}

/// The viramas, which end a consonant without its vowel in the scripts of India.
fn is_virama(c: char) -> bool {
    const VIRAMA: u8 = 9;
    canonical_combining_class(c) == VIRAMA
}

/// The letters of scripts that are written joined: Arabic, Syriac, N'Ko, Mandaic, Mongolian, 'Phags-pa, Adlam
/// and their kin.
fn is_joining(c: char) -> bool {
    let is_of_joining_script = matches!(
        c,
        '\u{600}'..='\u{6FF}'
            | '\u{700}'..='\u{77F}'
            | '\u{7C0}'..='\u{7FF}'
            | '\u{840}'..='\u{8FF}'
            | '\u{1820}'..='\u{18AA}'
            | '\u{A840}'..='\u{A873}'
            | '\u{FB50}'..='\u{FDCF}'
            | '\u{FDF0}'..='\u{FDFF}'
            | '\u{FE70}'..='\u{FEFE}'
            | '\u{10AC0}'..='\u{10AFF}'
            | '\u{10B80}'..='\u{10BAF}'
            | '\u{10D00}'..='\u{10D3F}'
            | '\u{10F30}'..='\u{10FDF}'
            | '\u{1E900}'..='\u{1E95F}'
    );
    is_of_joining_script && c.is_alphabetic()
}

fn is_han(c: char) -> bool {
    matches!(
        c,
        '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFD}'
    )
}

/// An emoji that is no digit and no sign of the keyboard.
fn is_pictograph(c: char) -> bool {
    !c.is_ascii() && c.is_emoji_char()
}

/// Whether an emoji may end here, so that a joiner may follow.
fn ends_emoji(c: char) -> bool {
    is_pictograph(c) || c == EMOJI_STYLE
}

/// Whether a tag is part of one of the flags that Unicode recommends: England, Scotland and Wales. Any other
/// sequence of tags would be invisible text.
fn is_in_flag(text: &[char], at: usize) -> bool {
    const BLACK_FLAG: char = '\u{1F3F4}';
    const CANCEL: char = '\u{E007F}';
    const REGIONS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];
    let Some(start) = text[..at].iter().rposition(|&c| c == BLACK_FLAG) else {
        return false;
    };
    let tags = text[start + 1..].split_inclusive(|&c| c == CANCEL).next();
    let region: Option<String> = tags.into_iter().flatten().map(|&c| as_ascii(c)).collect();
    region.is_some_and(|region| {
        let is_known = region
            .strip_suffix('\u{7F}')
            .is_some_and(|region| REGIONS.contains(&region));
        is_known && at <= start + region.len()
    })
}

/// The character that a tag stands for.
fn as_ascii(tag: char) -> Option<char> {
    let code_point = u32::from(tag).checked_sub(0xE0000)?;
    u8::try_from(code_point).ok().filter(u8::is_ascii).map(char::from)
}

#[cfg(test)]
mod tests {
    use super::{MAX_MARKS, check, is_ignorable};
    use crate::text::TextError;

    #[test]
    fn words_of_every_script_and_emoji_are_accepted() {
        for text in [
            "Größe",
            "Tiếng Việt",
            "שלום עולם",
            "בְּרֵאשִׁ֖ית",
            "مرحبا بالعالم",
            "می\u{200C}خواهم",
            "خانه\u{200C}ها",
            "ه\u{200D}.ش",
            "नमस्ते",
            "क्\u{200D}ष",
            "র\u{9CD}\u{200D}যাব",
            "ശ്രീ\u{D7A}ന്\u{200D}",
            "ක්\u{200D}ෂ",
            "မြန်မာ",
            "བོད་སྐད་",
            "ภาษาไทยน้ำ",
            "ᠮᠣᠩᠭᠣᠯ\u{180B} \u{1828}\u{180E}\u{1820}",
            "日本語",
            "葛\u{E0100}城",
            "한국어",
            "👩\u{200D}👩\u{200D}👧\u{200D}👦",
            "👩🏽\u{200D}🚀",
            "🏳\u{FE0F}\u{200D}🌈",
            "❤\u{FE0F}",
            "☎\u{FE0E}",
            "1\u{FE0F}\u{20E3}",
            "🇩🇪",
            "🏴\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}!",
            "<script>",
            "\u{a0}x",
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn invisible_characters_are_rejected() {
        let ignorable = (0..=0x10_FFFF)
            .filter_map(char::from_u32)
            .filter(|&c| is_ignorable(c));
        for c in ignorable {
            let expected = Err(TextError::ForbiddenCharacter {
                code_point: u32::from(c),
            });
            assert_eq!(check(&format!("a{c}b")), expected, "U+{:04X}", u32::from(c));
            assert_eq!(check(&format!("{c}")), expected, "U+{:04X}", u32::from(c));
        }
    }

    #[test]
    fn ignorable_characters_are_rejected_outside_their_scripts() {
        for text in [
            "خانه\u{200C}",
            "خانه\u{200C} ها",
            "a\u{200C}خ",
            "👩\u{200D}",
            "👩\u{200D}a",
            "1\u{200D}👩",
            "日\u{FE0F}",
            "a\u{E0100}",
            "🏴\u{E0061}\u{E0062}\u{E0063}\u{E007F}",
            "🏴\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}",
            "🏴\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}\u{E0061}",
            "a\u{E0067}\u{E007F}",
            "क्\u{200C}",
        ] {
            assert!(
                matches!(check(text), Err(TextError::ForbiddenCharacter { .. })),
                "{text:?}"
            );
        }
    }

    #[test]
    fn noncharacters_and_annotation_marks_are_rejected() {
        for c in [
            '\u{FDD0}',
            '\u{FFFE}',
            '\u{FFFF}',
            '\u{1FFFE}',
            '\u{10FFFF}',
            '\u{FFF9}',
            '\u{FFFB}',
        ] {
            assert!(check(&format!("a{c}b")).is_err(), "U+{:04X}", u32::from(c));
        }
    }

    #[test]
    fn consecutive_combining_marks_are_limited() {
        let marked = |marks| format!("a{}b", "\u{302}".repeat(marks));
        assert_eq!(check(&marked(MAX_MARKS)), Ok(()));
        assert_eq!(
            check(&marked(MAX_MARKS + 1)),
            Err(TextError::TooManyMarks { max: MAX_MARKS })
        );
        assert_eq!(check(&"a\u{302}".repeat(50)), Ok(()));
    }

    #[test]
    fn text_without_visible_character_is_rejected() {
        for text in ["\u{2800}", "\u{302}", "\u{E000}", "\u{2800} \u{2800}", "\u{903}"] {
            assert_eq!(check(text), Err(TextError::Invisible), "{text:?}");
        }
        for text in ["-", "\u{2800}x", "।", "1", "🦀", "\u{378}"] {
            assert_eq!(check(text), Ok(()), "{text:?}");
        }
    }
}

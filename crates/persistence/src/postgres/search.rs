//! Searching in texts that the domain has folded.

use diesel::sql_types::{Nullable, Text};

diesel::define_sql_function! {
    /// The first of the two that is there.
    fn coalesce(first: Nullable<Text>, second: Text) -> Text;
}

/// The LIKE pattern of texts that contain the term, whatever it consists of; nothing for a term that no text contains.
pub(super) fn containing(term: &str) -> Option<String> {
    // PostgreSQL stores no NUL, and refuses to compare with one.
    if term.contains('\0') {
        return None;
    }
    let mut pattern = String::with_capacity(term.len() + 2);
    pattern.push('%');
    for character in term.chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('%');
    Some(pattern)
}

#[cfg(test)]
mod tests {
    use super::containing;

    #[test]
    fn wildcards_in_a_term_stand_for_themselves() {
        assert_eq!(containing("50%_\\n").as_deref(), Some("%50\\%\\_\\\\n%"));
    }

    #[test]
    fn no_text_contains_nul() {
        assert_eq!(containing("a\0"), None);
    }
}

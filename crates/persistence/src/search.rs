//! What both databases have in common where they search in texts.

/// Whether no text contains the term, so that there is nothing to ask: PostgreSQL refuses to compare with a NUL.
pub(crate) fn is_in_no_text(term: &str) -> bool {
    term.contains('\0')
}

//! Text search, as far as both databases share it.

/// Whether no stored text can contain the term: PostgreSQL rejects a NUL in a parameter.
pub(crate) fn is_in_no_text(term: &str) -> bool {
    term.contains('\0')
}

/// The maximum number of grams in a query. A text with this many grams of a term probably contains it, which
/// is checked afterwards.
pub(crate) const MAX_GRAMS: usize = 32;

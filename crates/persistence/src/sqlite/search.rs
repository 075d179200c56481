//! Searching in texts that the domain has folded.

use diesel::sql_types::{Nullable, Text};

diesel::define_sql_function! {
    /// Where a text occurs in another one, literally: from 1; 0 if nowhere. (LIKE would ignore the case of ASCII letters,
    /// and of no others.)
    fn instr(within: Text, text: Text) -> Integer;
}

diesel::define_sql_function! {
    /// The first of the two that is there.
    fn coalesce(first: Nullable<Text>, second: Text) -> Text;
}

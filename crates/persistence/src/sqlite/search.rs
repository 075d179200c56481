//! Searching in texts that the domain has folded.

use diesel::sql_types::{BigInt, Text};
use keyward_domain::id::OrganizationId;

use crate::search::MAX_GRAMS;

diesel::define_sql_function! {
    /// The position of the first literal occurrence of a text in another one, from 1; 0 if there is none.
    /// (LIKE would ignore the case of ASCII letters, and of no others.)
    fn instr(within: Text, text: Text) -> Integer;
}

diesel::define_sql_function! {
    /// A text from this character on, counted from the end if it is negative.
    fn substr(text: Text, from: BigInt) -> Text;
}

/// The FTS5 query over `api_key_grams` for the organization's texts that contain the term. It may match other
/// texts too.
pub(super) fn grams(organization: OrganizationId, term: &str) -> String {
    let prefix = organization.as_uuid().simple().to_string().split_off(26);
    let gram = |bytes: &[u8]| format!("\"{prefix}{}\"", hex::encode(bytes));
    match *term.as_bytes() {
        // For a prefix, SQLite merges the texts of all grams that begin with it before it finds the first one.
        // Of grams that are named, it reads only as many texts as are wanted.
        [first, second] => {
            let followed = (0..=u8::MAX).map(|third| gram(&[first, second, third]));
            let last = gram(&[first, second]);
            followed.chain([last]).collect::<Vec<_>>().join(" OR ")
        }
        ref bytes if bytes.len() < 3 => format!("{}*", gram(bytes)),
        ref bytes => {
            let grams = bytes.windows(3).take(MAX_GRAMS).map(gram);
            grams.collect::<Vec<_>>().join(" AND ")
        }
    }
}

#[cfg(test)]
mod tests {
    use keyward_domain::id::OrganizationId;
    use uuid::Uuid;

    use super::grams;

    #[test]
    fn search_term_is_queried_by_its_n_grams() {
        let organization = OrganizationId::from_uuid(Uuid::from_u128(0x12_3456));
        for (term, expected) in [
            ("a", "\"12345661\"*"),
            ("鍵", "\"123456e98db5\""),
            ("abcd", "\"123456616263\" AND \"123456626364\""),
        ] {
            assert_eq!(grams(organization, term), expected);
        }
        // Every gram that begins with these two bytes, by name.
        let two = grams(organization, "ß");
        let two: Vec<&str> = two.split(" OR ").collect();
        assert_eq!(two.len(), 257);
        for gram in ["\"123456c39f00\"", "\"123456c39fff\"", "\"123456c39f\""] {
            assert!(two.contains(&gram), "{gram}");
        }
    }
}

//! Searching in texts that the domain has folded.

use keyward_domain::id::OrganizationId;

use crate::search::MAX_GRAMS;

/// The LIKE pattern for texts that contain the term.
pub(super) fn containing(term: &str) -> String {
    format!("%{}%", literal(term))
}

/// The LIKE patterns for texts whose first line is this name, and for those whose last line is.
pub(super) fn first_and_last_line(name: &str) -> [String; 2] {
    let name = literal(name);
    [format!("{name}\n%"), format!("%\n{name}")]
}

/// The term with wildcards escaped.
fn literal(term: &str) -> String {
    let mut pattern = String::with_capacity(term.len());
    for character in term.chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

/// The `tsquery` over `search_grams` for the organization's texts that contain the term, of keys whose
/// identifiers begin with the digits of the span. It may match other texts too.
pub(super) fn grams(organization: OrganizationId, span: &str, term: &str) -> String {
    let organization = organization.as_uuid().to_string();
    let prefix = organization.split_at(organization.len() - 6).1;
    let gram = |letters: &[char]| format!("'{prefix}{span}{}'", letters.iter().collect::<String>());
    let letters: Vec<char> = term.chars().map(letter).collect();
    if letters.len() < 3 {
        return format!("{}:*", gram(&letters));
    }
    let grams = letters.windows(3).take(MAX_GRAMS).map(gram);
    grams.collect::<Vec<_>>().join(" & ")
}

/// The letter to which `search_grams` maps a character.
fn letter(character: char) -> char {
    let code = u32::from(character);
    let [.., last_byte] = (code + 26 * (code >> 6)).to_be_bytes();
    char::from(192 | (last_byte & 63))
}

#[cfg(test)]
mod tests {
    use keyward_domain::id::OrganizationId;
    use uuid::Uuid;

    use super::{containing, grams};

    #[test]
    fn search_term_is_queried_by_its_n_grams() {
        let organization = OrganizationId::from_uuid(Uuid::from_u128(0x12_3456));
        for (term, expected) in [
            ("a", "'123456019aû':*"),
            ("鍵ß", "'123456019aÇí':*"),
            ("abcd", "'123456019aûüý' & '123456019aüýþ'"),
            ("i'm", "'123456019aÃçÇ'"),
            ("a\\b", "'123456019aûöü'"),
        ] {
            assert_eq!(grams(organization, "019a", term), expected);
        }
    }

    #[test]
    fn wildcards_in_a_search_term_are_literal() {
        assert_eq!(containing("50%_\\n"), "%50\\%\\_\\\\n%");
    }
}

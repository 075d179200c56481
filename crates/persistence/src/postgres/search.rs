//! Searching in texts that the domain has folded.

use keyward_domain::id::OrganizationId;

use crate::search::MAX_GRAMS;

/// The LIKE pattern for texts that contain the term, with wildcards escaped.
pub(super) fn containing(term: &str) -> String {
    let mut pattern = String::with_capacity(term.len() + 2);
    pattern.push('%');
    for character in term.chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}

/// The `tsquery` over `search_grams` for the organization's texts that contain the term, of keys whose
/// identifiers begin with the digits of the span. It may match other texts too.
pub(super) fn grams(organization: OrganizationId, span: &str, term: &str) -> String {
    let organization = organization.as_uuid().to_string();
    let prefix = organization.split_at(organization.len() - 6).1;
    let gram = |characters: &[char]| {
        let mut quoted = format!("'{prefix}{span}");
        for character in characters {
            if matches!(character, '\'' | '\\') {
                quoted.push(*character);
            }
            quoted.push(*character);
        }
        quoted.push('\'');
        quoted
    };
    let characters: Vec<char> = term.chars().collect();
    if characters.len() < 3 {
        return format!("{}:*", gram(&characters));
    }
    let grams = characters.windows(3).take(MAX_GRAMS).map(gram);
    grams.collect::<Vec<_>>().join(" & ")
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
            ("a", "'123456019aa':*"),
            ("鍵ß", "'123456019a鍵ß':*"),
            ("abcd", "'123456019aabc' & '123456019abcd'"),
            ("i'm", "'123456019ai''m'"),
            ("a\\b", "'123456019aa\\\\b'"),
        ] {
            assert_eq!(grams(organization, "019a", term), expected);
        }
    }

    #[test]
    fn wildcards_in_a_search_term_are_literal() {
        assert_eq!(containing("50%_\\n"), "%50\\%\\_\\\\n%");
    }
}

//! The text about the previewed keys on the page for revocation.

use keyward_domain::administration::ports::PreviewedKeys;

use crate::pages::filters::grouped_digits;

/// `more than 5,000 keys`.
pub(super) fn key_count(keys: &PreviewedKeys) -> String {
    let more = if keys.has_more { "more than " } else { "" };
    match keys.keys {
        1 => format!("{more}1 key"),
        count => format!("{more}{} keys", grouped_digits(count)),
    }
}

/// `at least 30 people`.
pub(super) fn holder_count(keys: &PreviewedKeys) -> String {
    let at_least = if keys.has_more { "at least " } else { "" };
    match keys.holders {
        1 => format!("{at_least}1 person"),
        count => format!("{at_least}{} people", grouped_digits(count)),
    }
}

/// How many of the selected keys will stop working.
pub(super) fn legend(keys: &PreviewedKeys) -> String {
    let count = grouped_digits(keys.keys);
    if keys.has_more {
        return format!("More than {count} keys will be revoked");
    }
    match (keys.keys, keys.keys.saturating_sub(keys.without_access)) {
        (1, 0) => "This key has already stopped working".to_owned(),
        (_, 0) => format!("These {count} keys have already stopped working"),
        (1, _) => "This key will stop working".to_owned(),
        (all, working) if working == all => format!("These {count} keys will stop working"),
        (_, working) => format!(
            "{} of these {count} keys will stop working",
            grouped_digits(working)
        ),
    }
}

/// Why the remaining keys give no access.
pub(super) fn former_members_hint(keys: &PreviewedKeys) -> Option<String> {
    if keys.has_more {
        return None;
    }
    match (keys.keys, keys.without_access) {
        (_, 0) => None,
        (1, _) => Some(
            "It belongs to a former member, so it no longer works. Revoking marks it as revoked.".to_owned(),
        ),
        (all, former) if former == all => Some(
            "They belong to former members, so they no longer work. Revoking marks them as revoked.".to_owned(),
        ),
        (_, 1) => Some(
            "The other key belongs to a former member and has already stopped working. It is marked as revoked, too."
                .to_owned(),
        ),
        (_, former) => Some(format!(
            "The other {} belong to former members and have already stopped working. They are marked as revoked, too.",
            grouped_digits(former)
        )),
    }
}

/// How many valid keys were created with the selected ones.
pub(super) fn descendants_legend(selected: &PreviewedKeys, descendants: &PreviewedKeys) -> String {
    let parents = if selected.keys > 1 {
        "these keys"
    } else {
        "this key"
    };
    let over = if descendants.has_more { "Over " } else { "" };
    match descendants.keys {
        1 => format!("{over}1 other valid key was created with {parents}"),
        count => format!(
            "{over}{} other valid keys were created with {parents}",
            grouped_digits(count)
        ),
    }
}

/// How the checkbox that revokes the descendants names them: `these 3 keys`; `these keys` if not all were
/// counted.
pub(super) fn these_keys(descendants: &PreviewedKeys) -> String {
    match descendants.keys {
        _ if descendants.has_more => "these keys".to_owned(),
        1 => "this key".to_owned(),
        count => format!("these {} keys", grouped_digits(count)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(keys: u32, without_access: u32, holders: u32) -> PreviewedKeys {
        PreviewedKeys {
            keys,
            without_access,
            holders,
            ..PreviewedKeys::default()
        }
    }

    fn uncounted() -> PreviewedKeys {
        PreviewedKeys {
            has_more: true,
            ..keys(5_000, 5_000, 30)
        }
    }

    #[test]
    fn heading_counts_keys_and_people() {
        for (preview, count, people) in [
            (keys(1, 0, 1), "1 key", "1 person"),
            (keys(1_234, 0, 1_000), "1,234 keys", "1,000 people"),
            (uncounted(), "more than 5,000 keys", "at least 30 people"),
        ] {
            assert_eq!(
                (key_count(&preview), holder_count(&preview)),
                (count.to_owned(), people.to_owned())
            );
        }
    }

    #[test]
    fn legend_distinguishes_keys_of_former_members() {
        const IT: &str = "It belongs to a former member, so it no longer works.";
        const THEY: &str = "They belong to former members, so they no longer work.";
        for (preview, expected, hint) in [
            (keys(1, 0, 1), "This key will stop working", None),
            (keys(3, 0, 1), "These 3 keys will stop working", None),
            (keys(1, 1, 1), "This key has already stopped working", Some(IT)),
            (
                keys(2_000, 2_000, 1),
                "These 2,000 keys have already stopped working",
                Some(THEY),
            ),
            (
                keys(2, 1, 2),
                "1 of these 2 keys will stop working",
                Some("The other key belongs to"),
            ),
            (
                keys(4, 2, 2),
                "2 of these 4 keys will stop working",
                Some("The other 2 belong to"),
            ),
            (uncounted(), "More than 5,000 keys will be revoked", None),
        ] {
            assert_eq!(legend(&preview), expected);
            let shown = former_members_hint(&preview);
            match hint {
                Some(hint) => assert!(shown.is_some_and(|shown| shown.starts_with(hint)), "{hint}"),
                None => assert_eq!(shown, None),
            }
        }
    }

    #[test]
    fn descendants_are_counted_with_their_parents() {
        for (selected, descendants, expected, these) in [
            (
                keys(1, 0, 1),
                keys(1, 0, 1),
                "1 other valid key was created with this key",
                "this key",
            ),
            (
                keys(2, 0, 1),
                keys(3, 0, 1),
                "3 other valid keys were created with these keys",
                "these 3 keys",
            ),
            (
                uncounted(),
                uncounted(),
                "Over 5,000 other valid keys were created with these keys",
                "these keys",
            ),
        ] {
            assert_eq!(descendants_legend(&selected, &descendants), expected);
            assert_eq!(these_keys(&descendants), these);
        }
    }
}

//! Paths for the log, without parts that may be secrets.

use std::borrow::Cow;

/// The maximum length in bytes of a method, or of a part of a path, that is logged. Ids and slugs have at most
/// 40; a longer part may be a token in place of its id.
const LONGEST_PART: usize = 40;

/// The maximum length in bytes of a path that is logged.
const LONGEST_PATH: usize = 1_024;

/// A path as it is logged.
pub(crate) fn short_path(path: &str) -> Cow<'_, str> {
    if path.len() <= LONGEST_PART {
        return path.into();
    }
    let mut short = String::with_capacity(path.len().min(LONGEST_PATH));
    for (index, part) in path.split('/').map(without_long_part).enumerate() {
        if short.len() + part.len() >= LONGEST_PATH {
            short.push_str("/…");
            break;
        }
        if index > 0 {
            short.push('/');
        }
        short.push_str(part);
    }
    short.into()
}

/// A method or a part of a path, shortened in the same way.
pub(crate) fn without_long_part(part: &str) -> &str {
    if part.len() > LONGEST_PART { "…" } else { part }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_path_segments_and_long_paths_are_truncated() {
        assert_eq!(short_path("/"), "/");
        assert_eq!(short_path("/a//b/"), "/a//b/");
        assert_eq!(short_path(&format!("/a/{}/b", "x".repeat(41))), "/a/…/b");
        let path = "/abc".repeat(5_000);
        let long = short_path(&path);
        assert!(
            long.len() <= LONGEST_PATH + 4 && long.ends_with("/abc/…"),
            "{long}"
        );
        assert_eq!(without_long_part(&"M".repeat(5_000)), "…");
    }
}

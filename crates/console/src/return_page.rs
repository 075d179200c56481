//! The page to which users return after sign-in.

use crate::local_path::LocalPath;
use crate::paths;

/// The page to return to for this path with its query, without the query if the whole is too long.
///
/// In place of an export it is the page that links to it, with the same filter: a link on another site must not export
/// anything, and a browser that downloads stays on the sign-in page. No page has a `%` in its path; encoded, an export's
/// name is decoded only when the browser asks for it.
pub(crate) fn return_page(text: &str) -> Option<LocalPath> {
    let (path, query) = text.split_at(text.find(['?', '#']).unwrap_or(text.len()));
    if path.contains('%') {
        return None;
    }
    let page = [paths::AuditLogCsv::PATTERN, paths::AuditLogJsonLines::PATTERN]
        .into_iter()
        .filter_map(|export| export.strip_prefix(paths::AuditLog::PATTERN))
        .find_map(|file_name| path.strip_suffix(file_name));
    let mut to = page.unwrap_or(path).to_owned();
    if to.len() + query.len() <= LocalPath::MAX {
        to.push_str(query);
    }
    LocalPath::parse(&to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_return_to_the_page_of_an_export() {
        let log = "/organizations/acme/settings/audit-log";
        for file in ["export.csv", "export.jsonl"] {
            for query in ["", "?who=ada&from=2026-01-31", "#"] {
                let page = return_page(&format!("{log}/{file}{query}"));
                assert_eq!(page.map(|page| page.to_string()), Some(format!("{log}{query}")));
            }
        }
    }

    #[test]
    fn encoded_export_path_is_no_return_page() {
        for file in ["%65xport.csv", "export%2ecsv", "export.jso%6el"] {
            let page = return_page(&format!("/organizations/acme/settings/audit-log/{file}"));
            assert_eq!(page, None, "{file}");
        }
    }

    #[test]
    fn too_long_query_is_left_out_on_return() {
        for (length, is_kept) in [(LocalPath::MAX - "/page?".len(), true), (LocalPath::MAX, false)] {
            let url = format!("/page?{}", "a".repeat(length));
            let expected = if is_kept { &*url } else { "/page" };
            let page = return_page(&url);
            assert_eq!(page.as_ref().map(LocalPath::as_str), Some(expected));
        }
    }
}

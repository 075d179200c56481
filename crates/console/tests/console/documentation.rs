//! Labels of the console that the documentation quotes.

use std::fs;
use std::path::{Path, PathBuf};

/// Quotes in the documentation that are no labels of the console: one of GitHub, and a text with a figure.
const NO_LABELS: [&str; 2] = ["Secret format", "more than 5,000"];

fn files(folder: &str, ending: &str) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let paths = paths.filter(|path| path.extension().is_some_and(|extension| extension == ending));
    paths
        .map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
        .collect()
}

/// The texts in “quotation marks”, and the steps in `in the console: API Keys → Revoke, …`.
fn labels(document: &str) -> Vec<&str> {
    let quoted = document
        .split('“')
        .skip(1)
        .filter_map(|rest| rest.split('”').next());
    let ways = document.split("in the console: ").skip(1);
    let ways = ways.filter_map(|rest| rest.split([',', '|', '\n']).next());
    quoted
        .chain(ways.flat_map(|way| way.split(" → ")))
        .map(str::trim)
        .collect()
}

#[test]
fn labels_quoted_in_the_documentation_exist() {
    let templates: String = files("templates", "html")
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    let mut found = 0;
    for (path, document) in files("../../docs", "md") {
        for label in labels(&document) {
            if !NO_LABELS.contains(&label) {
                assert!(templates.contains(label), "“{label}” in {}", path.display());
                found += 1;
            }
        }
    }
    assert!(found >= 7, "{found} labels");
}

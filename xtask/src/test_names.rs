//! Checks that no test's name has more than ten words: subject, condition, outcome.
//!
//! Every identifier is checked, because macros define tests too: those of both databases and the conformance
//! suite.

use std::fs;
use std::path::Path;
use std::str::FromStr;

use proc_macro2::{TokenStream, TokenTree};

use crate::failure::{Failure, Outcome};
use crate::workspace::Workspace;

const MAX_WORDS: usize = 10;

/// The folders with Rust sources.
const FOLDERS: [&str; 4] = ["crates", "examples", "tests", "xtask"];

pub(crate) fn test_names(workspace: &Workspace) -> Outcome {
    let mut found = Vec::new();
    for folder in FOLDERS {
        check_folder(&workspace.root().join(folder), &mut found)?;
    }
    if found.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "names of more than {MAX_WORDS} words; shorten them to subject, condition and outcome:\n- {}",
        found.join("\n- ")
    )))
}

fn check_folder(folder: &Path, found: &mut Vec<String>) -> Outcome {
    for entry in fs::read_dir(folder).map_err(Failure::about(folder.display()))? {
        let path = entry.map_err(Failure::about(folder.display()))?.path();
        if path.is_dir() && !path.ends_with("target") {
            check_folder(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).map_err(Failure::about(path.display()))?;
            let names =
                long_names(&text).map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
            found.extend(names.iter().map(|name| format!("{}: {name}", path.display())));
        }
    }
    Ok(())
}

/// The file's names of more than ten words, in the order of their first use.
fn long_names(text: &str) -> Result<Vec<String>, proc_macro2::LexError> {
    let mut found = Vec::new();
    collect(TokenStream::from_str(text)?, &mut found);
    Ok(found)
}

fn collect(tokens: TokenStream, found: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => collect(group.stream(), found),
            TokenTree::Ident(name) => {
                let name = name.to_string();
                let words = name.split('_').filter(|word| !word.is_empty()).count();
                if words > MAX_WORDS && !found.contains(&name) {
                    found.push(name);
                }
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN: &str = "a_b_c_d_e_f_g_h_i_j";
    const ELEVEN: &str = "a_b_c_d_e_f_g_h_i_j_k";

    #[track_caller]
    fn assert_found(text: &str, expected: &[&str]) {
        assert_eq!(long_names(text).expect("Rust"), expected);
    }

    #[test]
    fn name_of_more_than_ten_words_is_found_once() {
        assert_found(&format!("#[test] fn {ELEVEN}() {{ {ELEVEN}() }}"), &[ELEVEN]);
        assert_found(&format!("#[test] fn {TEN}() {{}} fn _{TEN}() {{}}"), &[]);
    }

    #[test]
    fn long_name_in_a_macros_list_is_found() {
        assert_found(&format!("on_both!({TEN}, {ELEVEN});"), &[ELEVEN]);
        assert_found(&format!("cases! {{ keys {{ {ELEVEN} }} }}"), &[ELEVEN]);
    }

    #[test]
    fn long_names_in_comments_and_texts_do_not_count() {
        assert_found(&format!("// {ELEVEN}\nconst TEXT: &str = \"{ELEVEN}\";"), &[]);
    }
}

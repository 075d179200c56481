//! The names in one file, read token by token, so that those inside macros count as well.

use std::collections::BTreeSet;
use std::str::FromStr;

use proc_macro2::{Delimiter, LexError, TokenStream, TokenTree};

/// The definitions, imports and paths of one file.
#[derive(Default)]
pub(super) struct Source {
    /// The modules in files of their own, with the file of `#[path = "…"]`, if there is one.
    pub(super) children: Vec<(String, Option<String>)>,
    /// The names of its items.
    pub(super) defined: BTreeSet<String>,
    /// The names that `use` imports, each with its path.
    pub(super) imports: Vec<(String, Vec<String>)>,
    /// Every path in it that may lead to another module.
    pub(super) paths: BTreeSet<Vec<String>>,
}

impl Source {
    pub(super) fn parse(text: &str) -> Result<Self, LexError> {
        let mut words = Vec::new();
        flatten(TokenStream::from_str(text)?, &mut words);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut reader = Reader::default();
        reader.read(&words, 0);
        // A re-export is no import.
        let Reader {
            mut source,
            passed_on,
            mentioned,
        } = reader;
        let used = |name: &str, path: &Vec<String>| !passed_on.contains(path) || mentioned.contains(name);
        let used = source.imports.iter().filter(|(name, path)| used(name, path));
        let used: Vec<Vec<String>> = used.map(|(_, path)| path.clone()).collect();
        source.paths.extend(used);
        Ok(source)
    }
}

/// The words and signs of a file one after the other, without comments; brackets are signs, too.
fn flatten(tokens: TokenStream, words: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                words.push(open.to_owned());
                flatten(group.stream(), words);
                words.push(close.to_owned());
            }
            other => words.push(other.to_string()),
        }
    }
}

#[derive(Default)]
struct Reader {
    source: Source,
    /// The paths that others get from here.
    passed_on: BTreeSet<Vec<String>>,
    /// Every name outside of `use`.
    mentioned: BTreeSet<String>,
}

impl Reader {
    /// `inside` is the number of enclosing modules in braces.
    fn read<'a>(&mut self, mut words: &'a [&'a str], inside: usize) {
        let (mut file, mut is_public) = (None, false);
        while !words.is_empty() {
            let was_public = std::mem::take(&mut is_public);
            words = match words {
                ["#", "[", ..] => {
                    let (attribute, after) = group(&words[1..]);
                    if let ["path", "=", name] = attribute {
                        file = Some(name.trim_matches('"').to_owned());
                    }
                    if is_for_tests(attribute) {
                        after_item(after)
                    } else {
                        &words[1..]
                    }
                }
                ["pub", rest @ ..] => {
                    is_public = true;
                    if let ["(", ..] = rest { group(rest).1 } else { rest }
                }
                ["mod", name, ";", rest @ ..] => {
                    self.source.children.push(((*name).to_owned(), file.take()));
                    rest
                }
                ["mod", name, "{", ..] => {
                    self.source.defined.insert((*name).to_owned());
                    let (body, after) = group(&words[2..]);
                    self.read(body, inside + 1);
                    after
                }
                ["use", rest @ ..] => self.read_use(rest, was_public, inside),
                [first, rest @ ..] if is_name(first) => {
                    if let (
                        "const" | "enum" | "fn" | "static" | "struct" | "trait" | "type" | "union",
                        [name, ..],
                    ) = (*first, rest)
                    {
                        self.source.defined.insert((*name).to_owned());
                    }
                    self.read_path(words, inside)
                }
                _ => &words[1..],
            };
        }
    }

    /// Reads `a::b::c` and returns what follows.
    fn read_path<'a>(&mut self, words: &'a [&'a str], inside: usize) -> &'a [&'a str] {
        self.mentioned.insert(words[0].to_owned());
        let (mut path, mut rest) = (vec![words[0].to_owned()], &words[1..]);
        while let [":", ":", name, after @ ..] = rest
            && is_name(name)
        {
            path.push((*name).to_owned());
            rest = after;
        }
        if path.len() > 1 {
            self.source.paths.extend(from_file(path, inside));
        }
        rest
    }

    /// Reads what follows `use`, and returns what follows its semicolon.
    fn read_use<'a>(&mut self, words: &'a [&'a str], is_public: bool, inside: usize) -> &'a [&'a str] {
        let (mut path, mut prefixes): (Vec<String>, Vec<Vec<String>>) = (Vec::new(), Vec::new());
        let mut name = None;
        for (at, word) in words.iter().enumerate() {
            let before = at.checked_sub(1).map_or("", |before| words[before]);
            match *word {
                "{" => prefixes.push(path.clone()),
                "}" | "," | ";" => {
                    path.pop_if(|last| last == "self");
                    if !matches!(before, "{" | "}" | ",") {
                        self.import(name.take(), path, is_public, inside);
                    }
                    if *word == "}" {
                        prefixes.pop();
                    }
                    path = prefixes.last().cloned().unwrap_or_default();
                    if *word == ";" {
                        return &words[at + 1..];
                    }
                }
                word if before == "as" => name = Some(word.to_owned()),
                word if is_name(word) && word != "as" || word == "*" => path.push(word.to_owned()),
                _ => {}
            }
        }
        &[]
    }

    fn import(&mut self, name: Option<String>, path: Vec<String>, is_public: bool, inside: usize) {
        let Some(path) = from_file(path, inside) else {
            return;
        };
        if is_public {
            self.passed_on.insert(path.clone());
        }
        let name = name.or_else(|| path.last().cloned());
        self.source.imports.push((name.unwrap_or_default(), path));
    }
}

/// The words in the brackets that begin here, and those after them.
fn group<'a>(words: &'a [&'a str]) -> (&'a [&'a str], &'a [&'a str]) {
    let mut depth = 0;
    for (at, word) in words.iter().enumerate() {
        match *word {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (&words[1..at], &words[at + 1..]);
        }
    }
    (&[], &[])
}

/// The tokens after the item whose attribute ends before `words`.
fn after_item<'a>(mut words: &'a [&'a str]) -> &'a [&'a str] {
    let is_use = matches!(
        words,
        ["use", ..] | ["pub", "use", ..] | ["pub", "(", _, ")", "use", ..]
    );
    loop {
        words = match words {
            [] => return words,
            [";", rest @ ..] => return rest,
            ["{", ..] if !is_use => return group(words).1,
            ["(" | "[" | "{", ..] => group(words).1,
            [_, rest @ ..] => rest,
        };
    }
}

/// `#[cfg(test)]` and what narrows it further, and `#[cfg(doctest)]`; not `#[cfg(not(test))]` or
/// `#[cfg(any(test, …))]`.
fn is_for_tests(attribute: &[&str]) -> bool {
    let has = |word| attribute.contains(&word);
    match attribute {
        ["test", ..] => true,
        ["cfg", ..] => (has("test") || has("doctest")) && !has("not") && !has("any"),
        _ => false,
    }
}

/// The path as seen from outside of this many modules in braces; `None` if it stays inside them.
fn from_file(path: Vec<String>, inside: usize) -> Option<Vec<String>> {
    let up = path.iter().take_while(|part| *part == "super").count();
    if up == 0 || inside == 0 {
        return Some(path);
    }
    (up >= inside).then(|| path[inside..].to_vec())
}

fn is_name(word: &str) -> bool {
    word.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

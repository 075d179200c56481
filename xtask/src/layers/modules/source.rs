//! One file as far as its names go, read token by token: also what stands inside macros counts.

use std::collections::BTreeSet;
use std::str::FromStr;

use proc_macro2::{Delimiter, Ident, LexError, TokenStream, TokenTree};

/// What one file defines, imports and names.
#[derive(Default)]
pub(super) struct Source {
    /// The modules that stand in files of their own.
    pub(super) children: Vec<Child>,
    /// The names of its items.
    pub(super) defined: BTreeSet<String>,
    /// What `use` brings in.
    pub(super) imports: Vec<Import>,
    /// Every path in it that may lead to another module.
    pub(super) paths: BTreeSet<Vec<String>>,
    /// Every name in it outside of `use`.
    mentioned: BTreeSet<String>,
}

/// `mod name;`
pub(super) struct Child {
    pub(super) name: String,
    /// Of `#[path = "…"]`.
    pub(super) file: Option<String>,
}

/// `use path as name;`
pub(super) struct Import {
    pub(super) name: String,
    pub(super) path: Vec<String>,
    /// Whether others get it from here.
    passed_on: bool,
}

impl Source {
    pub(super) fn parse(text: &str) -> Result<Self, LexError> {
        let tokens = TokenStream::from_str(text)?;
        let mut source = Self::default();
        source.read(tokens, 0);
        let used = source
            .imports
            .iter()
            .filter(|import| !import.passed_on || source.mentioned.contains(&import.name));
        let used: Vec<Vec<String>> = used.map(|import| import.path.clone()).collect();
        source.paths.extend(used);
        Ok(source)
    }

    /// `inside` so many modules in braces.
    fn read(&mut self, tokens: TokenStream, inside: usize) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut file = None;
        let mut is_public = false;
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token {
                TokenTree::Punct(sign) if sign.as_char() == '#' => {
                    let Some(TokenTree::Group(attribute)) = tokens.get(at) else {
                        continue;
                    };
                    let words: Vec<String> = words(attribute.stream());
                    if is_for_tests(&words) {
                        at = after_item(&tokens, at + 1);
                    } else if words.first().is_some_and(|word| word == "path") {
                        file = literal(attribute.stream());
                    }
                }
                TokenTree::Ident(word) if word == "pub" => {
                    is_public = true;
                    // `pub(crate)`
                    if is_group(tokens.get(at), Delimiter::Parenthesis) {
                        at += 1;
                    }
                    continue;
                }
                TokenTree::Ident(word) if word == "mod" => {
                    if let (Some(TokenTree::Ident(name)), Some(TokenTree::Punct(_))) =
                        (tokens.get(at), tokens.get(at + 1))
                    {
                        let name = name.to_string();
                        let file = file.take();
                        self.children.push(Child { name, file });
                    } else if let (Some(TokenTree::Ident(name)), Some(TokenTree::Group(body))) =
                        (tokens.get(at), tokens.get(at + 1))
                    {
                        self.defined.insert(name.to_string());
                        self.read(body.stream(), inside + 1);
                        at += 2;
                    }
                }
                TokenTree::Ident(word) if word == "use" => {
                    let end = end_of_statement(&tokens, at);
                    self.read_use(&tokens[at..end], &[], is_public, inside);
                    at = end;
                }
                TokenTree::Ident(word) => {
                    self.define(word, tokens.get(at));
                    at = self.read_path(&tokens, at - 1, inside);
                }
                TokenTree::Group(group) => self.read(group.stream(), inside),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
            is_public = false;
        }
    }

    fn define(&mut self, keyword: &Ident, name: Option<&TokenTree>) {
        const KEYWORDS: [&str; 8] = [
            "const", "enum", "fn", "static", "struct", "trait", "type", "union",
        ];
        if let (true, Some(TokenTree::Ident(name))) = (KEYWORDS.iter().any(|word| keyword == word), name) {
            self.defined.insert(name.to_string());
        }
    }

    /// Reads `a::b::c` and returns where it ends.
    fn read_path(&mut self, tokens: &[TokenTree], start: usize, inside: usize) -> usize {
        let mut path = Vec::new();
        let mut at = start;
        while let Some(TokenTree::Ident(word)) = tokens.get(at) {
            path.push(word.to_string());
            at += 1;
            if !is_path_sign(tokens, at) || !matches!(tokens.get(at + 2), Some(TokenTree::Ident(_))) {
                break;
            }
            at += 2;
        }
        self.mentioned.extend(path.first().cloned());
        if path.len() > 1 {
            self.paths.extend(from_file(path, inside));
        }
        at
    }

    /// Reads what stands between `use` and its semicolon, or one part of what stands in its braces.
    fn read_use(&mut self, tokens: &[TokenTree], prefix: &[String], passed_on: bool, inside: usize) {
        let mut path = prefix.to_vec();
        let mut name = None;
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token {
                TokenTree::Ident(word) if word == "as" => {
                    name = tokens.get(at).map(ToString::to_string);
                    at += 1;
                }
                TokenTree::Ident(word) => path.push(word.to_string()),
                TokenTree::Punct(sign) if sign.as_char() == '*' => path.push("*".to_owned()),
                TokenTree::Group(group) => {
                    let parts: Vec<TokenTree> = group.stream().into_iter().collect();
                    for part in parts.split(is_comma).filter(|part| !part.is_empty()) {
                        self.read_use(part, &path, passed_on, inside);
                    }
                    return;
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
        if path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let Some(path) = from_file(path, inside) else {
            return;
        };
        let name = name.or_else(|| path.last().cloned()).unwrap_or_default();
        self.imports.push(Import {
            name,
            path,
            passed_on,
        });
    }
}

/// The path as it reads outside of so many modules in braces; nothing if it stays inside them.
fn from_file(path: Vec<String>, inside: usize) -> Option<Vec<String>> {
    let up = path.iter().take_while(|part| *part == "super").count();
    if up == 0 || inside == 0 {
        return Some(path);
    }
    let outside = path[up.min(inside)..].to_vec();
    (up >= inside).then_some(outside)
}

fn words(tokens: TokenStream) -> Vec<String> {
    let mut found = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Ident(word) => found.push(word.to_string()),
            TokenTree::Group(group) => found.extend(words(group.stream())),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
    found
}

/// `#[cfg(test)]` and what narrows it further, and `#[cfg(doctest)]`; not `#[cfg(not(test))]` or `#[cfg(any(test, …))]`.
fn is_for_tests(attribute: &[String]) -> bool {
    let has = |wanted: &str| attribute.iter().any(|word| word == wanted);
    let [first, ..] = attribute else {
        return false;
    };
    first == "test" || first == "cfg" && (has("test") || has("doctest")) && !has("not") && !has("any")
}

fn literal(tokens: TokenStream) -> Option<String> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Literal(literal) => Some(literal.to_string().trim_matches('"').to_owned()),
        _ => None,
    })
}

/// Where the item ends whose attribute ends here.
fn after_item(tokens: &[TokenTree], start: usize) -> usize {
    let ends = |token: &TokenTree| match token {
        TokenTree::Punct(sign) => sign.as_char() == ';',
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Ident(_) | TokenTree::Literal(_) => false,
    };
    let is_use = tokens[start..]
        .iter()
        .find_map(|token| match token {
            TokenTree::Ident(word) if word != "pub" => Some(word == "use"),
            _ => None,
        })
        .unwrap_or(false);
    if is_use {
        return end_of_statement(tokens, start);
    }
    let length = tokens[start..].iter().position(ends);
    length.map_or(tokens.len(), |length| start + length + 1)
}

fn end_of_statement(tokens: &[TokenTree], start: usize) -> usize {
    let ends = |token: &TokenTree| matches!(token, TokenTree::Punct(sign) if sign.as_char() == ';');
    let length = tokens[start..].iter().position(ends);
    length.map_or(tokens.len(), |length| start + length)
}

fn is_comma(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(sign) if sign.as_char() == ',')
}

fn is_path_sign(tokens: &[TokenTree], at: usize) -> bool {
    let is_colon = |at| matches!(tokens.get(at), Some(TokenTree::Punct(sign)) if sign.as_char() == ':');
    is_colon(at) && is_colon(at + 1)
}

fn is_group(token: Option<&TokenTree>, delimiter: Delimiter) -> bool {
    matches!(token, Some(TokenTree::Group(group)) if group.delimiter() == delimiter)
}

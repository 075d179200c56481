//! What there is to ask for: read from the API's document and from the source of the console's routes.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::others::document;

const ROUTES: &str = include_str!("../../../crates/console/src/routes.rs");
const LINKS: &str = include_str!("../../../crates/console/src/links.rs");

/// A method and a path with the names of its parameters.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Operation {
    path: String,
    method: String,
}

impl Operation {
    pub(super) fn new(method: &str, path: &str) -> Self {
        Self {
            path: path.to_owned(),
            method: method.to_ascii_uppercase(),
        }
    }
}

/// All that can be asked for.
pub(super) fn operations() -> BTreeSet<Operation> {
    let mut all = of_the_api();
    all.extend(of_the_console());
    all
}

fn of_the_api() -> BTreeSet<Operation> {
    const METHODS: [&str; 8] = [
        "get", "post", "put", "patch", "delete", "head", "options", "trace",
    ];
    let text = std::fs::read_to_string(document()).expect("the API's document");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let paths = document["paths"].as_object().expect("paths");
    let of_path = |(path, item): (&String, &Value)| {
        let item = item.as_object().expect("a path item");
        let methods = METHODS.iter().filter(|method| item.contains_key(**method));
        methods
            .map(|method| Operation::new(method, path))
            .collect::<Vec<_>>()
    };
    paths.iter().flat_map(of_path).collect()
}

/// Every `.at(address, …RouteMethod::new().get(…).post(…))`. A route that is written in another way fails here.
fn of_the_console() -> BTreeSet<Operation> {
    const METHODS: [&str; 9] = [
        "get", "post", "put", "patch", "delete", "head", "options", "trace", "connect",
    ];
    let (routes, _) = ROUTES
        .split_once("\n        .data(")
        .expect("the end of the routes");
    for unread in [".nest", ".at_no_strip(", ".method("] {
        assert!(!routes.contains(unread), "`{unread}` is not read here");
    }
    let mut all = BTreeSet::new();
    for route in routes.split(".at(").skip(1) {
        let (address, methods) = address_and_methods(route);
        let path = text_of(address, &[]);
        let allowed: Vec<_> = METHODS
            .iter()
            .filter(|method| methods.contains(&format!(".{method}(")))
            .collect();
        assert!(!allowed.is_empty(), "no methods are read for {path}");
        all.extend(allowed.iter().map(|method| Operation::new(method, &path)));
    }
    all
}

/// They stand before and behind the first comma that is not between parentheses.
fn address_and_methods(route: &str) -> (&str, &str) {
    let mut open = 0;
    let comma = route.find(|character| {
        open += match character {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        character == ',' && open == 0
    });
    route.split_at(comma.expect("an address and its methods"))
}

/// The text that an expression in the routes or links stands for, where `bound` are the parameters around it.
fn text_of(expression: &str, bound: &[(&str, String)]) -> String {
    let expression = expression.trim();
    if let Some((_, text)) = bound.iter().find(|(name, _)| *name == expression) {
        return text.clone();
    }
    let name = expression.trim_start_matches("links::");
    if let Some((function, arguments)) = name.strip_suffix(')').and_then(|call| call.split_once('(')) {
        let arguments = arguments.split(',').map(|argument| text_of(argument, bound));
        return text_from(function, arguments);
    }
    let name = name.trim_start_matches("Parameter::");
    let quoted = |before: &str| LINKS.split(before).nth(1)?.split('"').next();
    let parameter = quoted(&format!("const {name}: Self = Self(\"")).map(|name| format!(":{name}"));
    let constant = || quoted(&format!("const {name}: &str = \"")).map(str::to_owned);
    parameter
        .or_else(constant)
        .unwrap_or_else(|| panic!("no text stands for {expression}"))
}

/// What a function of the links makes of its arguments. Its body is one `format!`.
fn text_from(function: &str, arguments: impl Iterator<Item = String>) -> String {
    let (parameters, body) = LINKS
        .split(&format!("fn {function}("))
        .nth(1)
        .and_then(|source| source.split("\n}\n").next())
        .and_then(|source| source.split_once(") -> String {"))
        .unwrap_or_else(|| panic!("no link is made by {function}"));
    let names = parameters
        .split(',')
        .filter_map(|parameter| Some(parameter.split_once(':')?.0.trim()));
    let bound: Vec<_> = names.zip(arguments).collect();
    let (format, behind) = body
        .trim()
        .strip_prefix("format!(\"")
        .and_then(|format| format.strip_suffix(')')?.split_once('"'))
        .unwrap_or_else(|| panic!("{function} is not one format: {body}"));
    let mut pieces = format.split('{');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (place, rest) = piece.split_once('}').expect("the end of a place");
        let expression = if place.is_empty() {
            behind.trim_start_matches(',')
        } else {
            place
        };
        text += &text_of(expression, &bound);
        text += rest;
    }
    text
}

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
        let (address, methods) = route.split_once(',').expect("an address and its methods");
        let path = path(address.trim());
        let allowed: Vec<_> = METHODS
            .iter()
            .filter(|method| methods.contains(&format!(".{method}(")))
            .collect();
        assert!(!allowed.is_empty(), "no methods are read for {path}");
        all.extend(allowed.iter().map(|method| Operation::new(method, path)));
    }
    all
}

/// The path that an expression in the routes stands for.
fn path(address: &str) -> &'static str {
    let source = match address.strip_prefix("links::") {
        Some(name) => LINKS.split(&format!("const {name}: &str = ")).nth(1),
        None => ROUTES.find(address).and_then(|at| ROUTES.get(at..)),
    };
    source
        .and_then(|source| source.strip_prefix('"'))
        .and_then(|source| source.split('"').next())
        .unwrap_or_else(|| panic!("no text stands for {address}"))
}

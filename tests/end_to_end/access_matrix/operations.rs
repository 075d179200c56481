//! All operations: from the API's document, from the list of those that it does not contain, and from the list of the
//! console's.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::others::document;

/// A test of the console checks that these are its operations.
const CONSOLE: &str = include_str!("../../../crates/console/tests/operations.txt");

/// The operations that are not in the document; a test of the API checks the list.
const HIDDEN: &str = include_str!("../../../crates/http-api/tests/hidden_operations.txt");

/// Other forms of documented operations.
const ALIASES: &str = "POST /api/v1/auth\nDELETE /api/v1/auth/orders/7";

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

/// All operations of the API and the console.
pub(super) fn operations() -> BTreeSet<Operation> {
    let mut all = of_the_api();
    for list in [HIDDEN, ALIASES, CONSOLE] {
        all.extend(listed(list));
    }
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

fn listed(list: &str) -> impl Iterator<Item = Operation> {
    let operations = list.lines();
    operations.map(|line| {
        let (method, path) = line.split_once(' ').expect("a method and a path");
        Operation::new(method, path)
    })
}

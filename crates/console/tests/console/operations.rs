//! The list of all that can be asked of the console, which the end-to-end tests read.

use std::fmt::Write;

use keyward_console::operations;

#[test]
fn operation_list_equals_the_served_console_routes() {
    let mut served = String::new();
    for (method, path) in operations() {
        writeln!(served, "{method} {path}").unwrap();
    }
    let listed = include_str!("../operations.txt");
    assert_eq!(
        listed, served,
        "write this into crates/console/tests/operations.txt"
    );
}

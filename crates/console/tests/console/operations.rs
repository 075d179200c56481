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

/// A form that is sent after the session has ended leads to the sign-in page, and then to the form's path.
#[test]
fn every_path_of_a_form_is_also_a_page() {
    let served = operations();
    let posted = served.iter().filter(|(method, _)| *method == "POST");
    for (_, path) in posted.filter(|(_, path)| path != "/sign-out") {
        assert!(served.contains(&("GET", path.clone())), "{path}");
    }
}

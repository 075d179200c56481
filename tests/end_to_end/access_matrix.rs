//! Who may do what: every operation of the API and every route of the console, asked for by eight kinds of
//! visitors.
//!
//! Keys never administer, and nothing of another organization can be seen or changed. A route without a row
//! in [`rows`] fails here.

mod answers;
mod operations;
mod rows;
mod snapshot;
mod visitors;
mod world;

use std::collections::BTreeSet;

use operations::{Operation, operations};
use rows::{API, Answer, CONSOLE, Row};
use visitors::{VISITORS, Visitor};
use world::World;

#[test]
fn every_operation_and_route_has_one_row() {
    let mut seen = BTreeSet::new();
    for row in API.iter().chain(CONSOLE) {
        let operation = Operation::new(row.method, row.path);
        assert!(seen.insert(operation), "two rows for {} {}", row.method, row.path);
    }
    let expected = operations();
    let without_row: Vec<_> = expected.difference(&seen).collect();
    assert!(without_row.is_empty(), "say who may do this: {without_row:#?}");
    let without_route: Vec<_> = seen.difference(&expected).collect();
    assert!(
        without_route.is_empty(),
        "rows for what is not there: {without_route:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_role_may_do_exactly_what_the_matrix_allows() {
    let world = World::with_two_organizations().await;
    let before = world.snapshot().await;
    let mut wrong = Vec::new();

    for row in API.iter().chain(CONSOLE) {
        for (visitor, expected) in row.visitors().filter(|(_, expected)| expected.is_refusal()) {
            world.expect(row, visitor, expected, &mut wrong).await;
        }
    }
    for row in CONSOLE {
        if row.is_about_an_object_of_the_organization() {
            world.expect_stranger_at_home_finds_nothing(row, &mut wrong).await;
        }
        if row.names_an_object_in_its_form() {
            world.stranger_asks_at_home(row).await;
        }
        if row.method == "POST" {
            for visitor in VISITORS {
                world.expect_cross_site_is_refused(row, visitor, &mut wrong).await;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let after = world.snapshot().await;
    before.assert_unchanged(&after, "by what was refused");

    for row in API {
        for (visitor, expected) in row.visitors().filter(|(_, expected)| !expected.is_refusal()) {
            world.expect(row, visitor, expected, &mut wrong).await;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let after = world.snapshot().await;
    before.assert_same_administration(&after, "by keys");
    before.assert_only_keys_were_acted_on(&after);

    for row in CONSOLE {
        for (visitor, expected) in row.visitors().filter(|(_, expected)| !expected.is_refusal()) {
            world.expect(row, visitor, expected, &mut wrong).await;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

impl Row {
    fn visitors(&self) -> impl Iterator<Item = (Visitor, Answer)> {
        VISITORS.into_iter().zip(self.expected)
    }

    fn is_about_an_object_of_the_organization(&self) -> bool {
        self.path.contains(":slug") && self.path.contains(":id")
    }

    /// Whether the form names an object, on a page that exists in every organization.
    fn names_an_object_in_its_form(&self) -> bool {
        !self.path.contains(":id") && self.fields.iter().any(|(name, _)| name.contains('{'))
    }
}

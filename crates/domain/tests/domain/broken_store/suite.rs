//! Runs the whole suite on a store with a fault.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use futures_util::FutureExt;
use keyward_domain::testing::conformance::{
    Case, Stores, administration_cases, key_cases, retention_cases, sign_in_cases,
};

use super::{BrokenStore, Fault};

/// The maximum number of other cases that a fault may break, so that the failed cases show what is wrong.
const FEW: usize = 10;

/// One test for each fault, which asserts that the suite catches it by these cases.
macro_rules! caught {
    ($($test:ident: $fault:expr => [$($case:literal),+ $(,)?];)+) => {$(
        #[tokio::test]
        async fn $test() {
            $crate::broken_store::assert_caught($fault, &[$($case),+]).await;
        }
    )+};
}
pub(crate) use caught;

/// Asserts that the suite fails in these cases, and in few others.
pub(crate) async fn assert_caught(fault: Fault, by: &[&str]) {
    let failed = assert_fails(fault, by).await;
    let others: Vec<_> = failed.into_iter().filter(|case| !by.contains(case)).collect();
    assert!(
        others.len() <= FEW,
        "{fault:?} also breaks {} cases: {others:?}",
        others.len()
    );
}

/// Asserts that the suite fails in these cases, for a fault that breaks many others, such as omitted events.
pub(crate) async fn assert_fails(fault: Fault, by: &[&str]) -> Vec<&'static str> {
    let failed = failed(fault).await;
    for case in by {
        assert!(
            failed.contains(case),
            "a store with the fault {fault:?} passes {case}; it fails {failed:?}"
        );
    }
    failed
}

// On the one thread of these tests, tasks meet at the same points in every run.
pub(crate) async fn failed(fault: Fault) -> Vec<&'static str> {
    [
        failed_of(key_cases::all(), fault).await,
        failed_of(sign_in_cases::all(), fault).await,
        failed_of(administration_cases::all(), fault).await,
        failed_of(retention_cases::all(), fault).await,
    ]
    .concat()
}

async fn failed_of<S>(cases: Vec<Case<S>>, fault: Fault) -> Vec<&'static str>
where
    S: From<Stores>,
{
    SAYS_LITTLE.call_once(say_little_of_what_fails_on_purpose);
    let mut failed = Vec::new();
    for case in cases {
        let stores = S::from(BrokenStore::stores(fault));
        FAILS_ON_PURPOSE.set(true);
        let run = AssertUnwindSafe(case.run(stores)).catch_unwind().await;
        FAILS_ON_PURPOSE.set(false);
        if run.is_err() {
            failed.push(case.name());
        }
    }
    failed
}

static SAYS_LITTLE: Once = Once::new();

thread_local! {
    /// Whether a case runs whose failure is what the test is about.
    static FAILS_ON_PURPOSE: Cell<bool> = const { Cell::new(false) };
}

/// Finding out the names of a backtrace takes longer than most cases.
#[expect(clippy::print_stderr, reason = "a panic hook says what failed")]
fn say_little_of_what_fails_on_purpose() {
    let say_all = panic::take_hook();
    panic::set_hook(Box::new(move |failure| {
        if FAILS_ON_PURPOSE.get() {
            eprintln!("{failure}");
        } else {
            say_all(failure);
        }
    }));
}

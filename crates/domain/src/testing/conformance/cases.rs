//! The macro by which each area lists its cases, and the two that make tests of them.

use futures_util::future::LocalBoxFuture;

/// A case that can be run by itself, on fresh stores of type `S`.
#[derive(Debug, Clone, Copy)]
pub struct Case<S> {
    name: &'static str,
    run: fn(S) -> LocalBoxFuture<'static, ()>,
}

impl<S> Case<S> {
    pub(super) const fn new(name: &'static str, run: fn(S) -> LocalBoxFuture<'static, ()>) -> Self {
        Self { name, run }
    }

    /// The promise that it checks.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Checks it, and panics if the store breaks it.
    pub async fn run(&self, stores: S) {
        (self.run)(stores).await;
    }
}

/// Declares the cases of an area, where each can be called by its name, and the macro that makes tests of
/// them. A case that is missing from the list is dead code, which the compiler refuses.
macro_rules! cases {
    (
        $dollar:tt
        $(#[$doc:meta])*
        $cases:ident($Stores:ident), $tests:ident
        $($module:ident { $($case:ident)* })*
    ) => {
        $(#[$doc])*
        pub mod $cases {
            use futures_util::future::LocalBoxFuture;

            use crate::testing::conformance::{Case, $Stores};

            // In boxes, so that cases are compiled once, with this crate. An `async fn` is compiled again in
            // every crate that awaits it.
            $($(
                pub fn $case(stores: $Stores) -> LocalBoxFuture<'static, ()> {
                    Box::pin(super::$module::$case(stores))
                }
            )*)*

            /// All of these cases.
            #[must_use]
            pub fn all() -> Vec<Case<$Stores>> {
                vec![$($(Case::new(stringify!($case), $case)),*),*]
            }
        }

        #[doc(hidden)]
        #[macro_export]
        macro_rules! $tests {
            (#[$dollar test:meta] $dollar stores:path) => {
                $($(
                    #[$dollar test]
                    async fn $case() {
                        let stores = $dollar stores().await;
                        $dollar crate::testing::conformance::$cases::$case(stores.into()).await;
                    }
                )*)*
            };
        }
    };
}

pub(super) use cases;

/// Makes a test of each case of the [conformance suite](crate::testing::conformance) that is about keys.
///
/// It takes the attribute that makes an async function a test, and the name of an async function that makes
/// fresh [`KeyStores`](crate::testing::conformance::KeyStores).
#[macro_export]
macro_rules! key_conformance_tests {
    (#[$test:meta] $stores:path) => {
        $crate::key_tests!(
            #[$test]
            $stores
        );
    };
}

/// Makes a test of each case of the [conformance suite](crate::testing::conformance): those of
/// [`key_conformance_tests!`](crate::key_conformance_tests), and those of all other ports.
///
/// It takes the attribute that makes an async function a test, and the name of an async function that makes
/// fresh [`Stores`](crate::testing::conformance::Stores).
#[macro_export]
macro_rules! conformance_tests {
    (#[$test:meta] $stores:path) => {
        $crate::key_tests!(
            #[$test]
            $stores
        );
        $crate::sign_in_tests!(
            #[$test]
            $stores
        );
        $crate::administration_tests!(
            #[$test]
            $stores
        );
        $crate::retention_tests!(
            #[$test]
            $stores
        );
    };
}

//! The macro by which the cases are listed, and the ones that it makes, which make tests of them.

/// Declares the cases, where each can be called by its name, and the macros that make tests of them. A case that is
/// missing from the list is dead code, which the compiler refuses.
macro_rules! suite {
    (
        $dollar:tt
        keys { $($key_module:ident { $($key_case:ident)* })* }
        sign_in { $($sign_in_module:ident { $($sign_in_case:ident)* })* }
        administration { $($administration_module:ident { $($administration_case:ident)* })* }
        retention { $($retention_module:ident { $($retention_case:ident)* })* }
    ) => {
        /// Each case of the key ports by itself: an async function that takes fresh [`KeyStores`](super::KeyStores)
        /// and panics if the store breaks the promise that the function is named for.
        pub mod key_cases {
            $(pub use super::super::keys::$key_module::{$($key_case),*};)*
        }

        /// Each case of the ports of users and sign-in by itself: an async function that takes fresh
        /// [`Stores`](super::Stores) and panics if the store breaks the promise that the function is named for.
        pub mod sign_in_cases {
            $(pub use super::super::sign_in::$sign_in_module::{$($sign_in_case),*};)*
        }

        /// Each case of the ports of running an organization by itself: an async function that takes fresh
        /// [`Stores`](super::Stores) and panics if the store breaks the promise that the function is named for.
        pub mod administration_cases {
            $(pub use super::super::administration::$administration_module::{$($administration_case),*};)*
        }

        /// Each case of the port of retention by itself: an async function that takes fresh [`Stores`](super::Stores)
        /// and panics if the store breaks the promise that the function is named for.
        pub mod retention_cases {
            $(pub use super::super::retention::$retention_module::{$($retention_case),*};)*
        }

        /// Makes a test of each case of the [conformance suite](crate::testing::conformance) that is about keys.
        ///
        /// It takes the attribute that makes an async function a test, and the name of an async function that makes
        /// fresh [`KeyStores`](crate::testing::conformance::KeyStores).
        #[macro_export]
        macro_rules! key_conformance_tests {
            (#[$dollar test:meta] $dollar stores:path) => {
                $($(
                    #[$dollar test]
                    async fn $key_case() {
                        $dollar crate::testing::conformance::key_cases::$key_case($dollar stores().await).await;
                    }
                )*)*
            };
        }

        /// Makes a test of each case of the [conformance suite](crate::testing::conformance): those of
        /// [`key_conformance_tests!`](crate::key_conformance_tests), and those of all other ports.
        ///
        /// It takes the attribute that makes an async function a test, and the name of an async function that makes
        /// fresh [`Stores`](crate::testing::conformance::Stores).
        #[macro_export]
        macro_rules! conformance_tests {
            (#[$dollar test:meta] $dollar stores:path) => {
                $($(
                    #[$dollar test]
                    async fn $key_case() {
                        let stores = $dollar stores().await.keys;
                        $dollar crate::testing::conformance::key_cases::$key_case(stores).await;
                    }
                )*)*
                $($(
                    #[$dollar test]
                    async fn $sign_in_case() {
                        let stores = $dollar stores().await;
                        $dollar crate::testing::conformance::sign_in_cases::$sign_in_case(stores).await;
                    }
                )*)*
                $($(
                    #[$dollar test]
                    async fn $administration_case() {
                        let stores = $dollar stores().await;
                        $dollar crate::testing::conformance::administration_cases::$administration_case(stores).await;
                    }
                )*)*
                $($(
                    #[$dollar test]
                    async fn $retention_case() {
                        let stores = $dollar stores().await;
                        $dollar crate::testing::conformance::retention_cases::$retention_case(stores).await;
                    }
                )*)*
            };
        }
    };
}

pub(super) use suite;

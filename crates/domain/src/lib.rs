//! Personal API keys for the members of an organization: the types, rules and use cases of Keyward.
//!
//! The crate reads as the specification. It opens no socket, reads no clock and knows neither SQL nor HTTP:
//! storage, time and randomness come in through ports, so another team can embed it with a store of its own.
//!
//! | to read about | look at |
//! |---|---|
//! | who owns keys | [`organization`], [`user`], [`membership`], [`holder`] |
//! | what a key is, and when it works | [`api_key`], [`token`], [`access`] |
//! | what one can do with keys | [`keys`] |
//! | who did what | [`audit`] |
//! | passwords, console sessions, first-run setup | [`sign_in`] (no key rule depends on it) |
//! | what a store must promise | [`ports`] |
//! | in-memory adapters, fixed clock, conformance suite | `testing` (feature `testing`) |

pub mod access;
pub mod api_key;
pub mod audit;
pub mod clock;
pub mod holder;
pub mod id;
pub mod keys;
pub mod membership;
pub mod organization;
pub mod page;
pub mod ports;
#[cfg(test)]
mod property_tests;
pub mod random;
pub mod sign_in;
#[cfg(feature = "testing")]
pub mod testing;
pub mod text;
pub mod token;
pub mod user;
mod words;

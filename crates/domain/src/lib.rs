//! Personal API keys for the members of an organization: the types, rules and use cases of Keyward.
//!
//! The crate reads as the specification. It opens no socket, reads no clock and knows neither SQL nor HTTP:
//! storage, time and randomness come in through ports, so another team can embed it with a store of its own.
//!
//! | to read about | look at |
//! |---|---|
//! | who owns keys | [`organization`], [`user`], [`membership`], [`holder`] |
//! | what a key is, and when it works | [`api_key`], [`token`], [`access`] |
//! | what other services may ask about tokens | [`introspection`], [`verifier`] |
//! | what one can do with keys | [`keys`] |
//! | reports of leaked tokens | [`leaked_keys`] |
//! | when a key was last used | [`recent_uses`] |
//! | which changes every server must know | [`access_changes`] |
//! | which changes a restored database must repeat | [`access_removals`] |
//! | who tried a key that no longer works | [`refused_uses`] |
//! | which projects a key reaches | [`project`] |
//! | running an organization: members, invitations, projects, its keys as owners see them | [`administration`], [`invitation`] |
//! | who did what | [`audit`] |
//! | retention periods and purging | [`retention`] |
//! | passwords, console sessions, first-run setup | [`sign_in`] (no key rule depends on it) |
//! | time, randomness and identifiers | [`clock`], [`random`], [`id`]; all three in [`sources`], as use cases take them |
//! | where people reach an installation | [`public_url`] |
//! | configuration that is replaced while a server runs | [`current`] |
//! | what a store must promise | [`ports`]; all that Keyward needs: [`storage_ports`] |
//! | in-memory adapters, fixed clock, conformance suite | `testing` (feature `testing`) |
//!
//! A use case whose error is [`StorageError`](ports::StorageError) fails only if the store does.
//!
//! To embed it, implement [`ApiKeys`](ports::ApiKeys), for [`keys`], [`Credentials`](ports::Credentials), for
//! [`access`], and what these use cases ask: [`Clock`](clock::Clock) and [`Random`](random::Random). With
//! [`Memberships`](ports::Memberships) and [`AuditLog`](ports::AuditLog), the conformance suite can check the
//! store (`testing::conformance`).
//! `examples/own-store` in the repository does all of that in a program with users of its own.
//!
//! A member issues a key, and a request that comes with its token is known:
//!
#![cfg_attr(feature = "testing", doc = "```")]
#![cfg_attr(not(feature = "testing"), doc = "```ignore")]
//! use keyward_domain::api_key::KeyName;
//! use keyward_domain::audit::RequestSource;
//! use keyward_domain::keys::KeyDraft;
//! use keyward_domain::membership::Role;
//! use keyward_domain::testing::TestInstallation;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let installation = TestInstallation::new();
//! let acme = installation.organization("Acme");
//! let ada = installation.member(&acme, "ada", Role::Member);
//!
//! let draft = KeyDraft::named(KeyName::parse("deploy bot")?);
//! let issued = installation
//!     .keys()
//!     .issue(&ada.as_holder(), draft, None, RequestSource::default())
//!     .await?;
//!
//! let caller = installation.authenticate().caller(issued.token.expose(), None).await?;
//! assert_eq!(caller.consumer().username.as_str(), "ada");
//! # Ok(())
//! # }
//! ```

#[cfg(all(doctest, feature = "testing"))]
#[doc = include_str!("../README.md")]
pub struct Readme;

pub mod access;
pub mod access_changes;
pub mod access_removals;
pub mod administration;
pub mod api_key;
pub mod audit;
mod authority;
pub mod clock;
mod credential;
pub mod current;
pub mod failure_sentence;
mod half_digest;
pub mod holder;
pub mod id;
mod idempotency_key;
pub mod introspection;
pub mod invitation;
pub mod keys;
pub mod leaked_keys;
pub mod membership;
pub mod organization;
pub mod page;
pub mod planned_ends;
pub mod ports;
pub mod project;
pub mod propagation;
#[cfg(test)]
mod property_tests;
pub mod public_url;
pub mod random;
pub mod rate;
pub mod recent_uses;
pub mod refused_uses;
pub mod retention;
mod secret;
pub mod shortened_address;
pub mod sign_in;
pub mod sources;
pub mod storage_ports;
#[cfg(feature = "testing")]
pub mod testing;
pub mod text;
pub mod token;
pub mod user;
pub mod validity;
pub mod verifier;
mod words;

//! What both databases are asked in the same words: a module of each adapter, compiled for its database.
//!
//! `dialect` and `schema` are those of the adapter. What differs between the two is said there, so there is no `#[cfg]` here
//! and no type that stands for either: what is wrong for one database does not compile.
//!
//! `events` and `validity` stand beside this module: what each database is asked in words of its own needs them, too.
//!
//! What must be asked otherwise, because the databases plan, lock or search otherwise, is in `postgres/` and `sqlite/`.

use super::{dialect, events, schema, validity};

/// What a port method reads: with a connection, in what follows, or by a function that takes the connection first.
macro_rules! read {
    ($store:ident, |$connection:ident| $asked:block) => {
        $store
            .read(move |$connection| $crate::abort::boxed(async move { $asked }))
            .await
    };
    ($store:ident, $($asked:ident)::+($($argument:expr),* $(,)?)) => {
        $store
            .read(move |connection| Box::pin($($asked)::+(connection, $($argument),*)))
            .await
    };
}

/// What a port method changes, likewise, in one transaction. A claim before it says what of the room that is kept for some
/// changes this one may take.
macro_rules! change {
    ($store:ident, |$connection:ident| $done:block) => {
        change!($store, $crate::claim::Claim::Nothing, |$connection| $done)
    };
    ($store:ident, $claim:path, |$connection:ident| $done:block) => {
        $store
            .change($claim, move |$connection| {
                $crate::abort::boxed(async move { $done })
            })
            .await
    };
    ($store:ident, $claim:path, $($done:ident)::+($($argument:expr),* $(,)?)) => {
        $store
            .change($claim, move |connection| {
                Box::pin($($done)::+(connection, $($argument),*))
            })
            .await
    };
    ($store:ident, $($done:ident)::+($($argument:expr),* $(,)?)) => {
        change!($store, $crate::claim::Claim::Nothing, $($done)::+($($argument),*))
    };
}

mod accounts;
pub(crate) mod api_keys;
mod audit_log;
pub(crate) mod authority;
mod credentials;
mod installation;
pub(crate) mod invitations;
mod last_uses;
pub(crate) mod members;
mod memberships;
mod names;
pub(crate) mod organization_keys;
mod organizations;
pub(crate) mod people;
mod projects;
mod retention;
pub(crate) mod schema_state;
mod sessions;
mod throttle;
pub(crate) mod transfer;

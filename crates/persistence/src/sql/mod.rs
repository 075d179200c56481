//! What both databases are asked in the same words: a module of each adapter, compiled for its database.
//!
//! `dialect` and `schema` are those of the adapter. What differs between the two is said there, so there is no `#[cfg]` here
//! and no type that stands for either: what is wrong for one database does not compile.
//!
//! `events` stands beside this module: what each database is asked in words of its own needs it, too.
//!
//! What must be asked otherwise, because the databases plan, lock or search otherwise, is in `postgres/` and `sqlite/`.

use super::{dialect, events, schema};

/// Reads with a connection: what a port method asks, as it is written in its body.
macro_rules! read {
    ($store:ident, |$connection:ident| $asked:expr) => {
        $store
            .read(move |$connection| $crate::abort::boxed(async move { $asked }))
            .await
    };
}

/// Changes with a connection, in one transaction: what a port method does, as it is written in its body. A claim says what the
/// change may take of the room that is kept for it.
macro_rules! change {
    ($store:ident, |$connection:ident| $done:expr) => {
        $store
            .change(move |$connection| $crate::abort::boxed(async move { $done }))
            .await
    };
    ($store:ident, $claim:expr, |$connection:ident| $done:expr) => {
        $store
            .change_with($claim, move |$connection| {
                $crate::abort::boxed(async move { $done })
            })
            .await
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
pub(crate) mod retention;
mod sessions;
mod throttle;
pub(crate) mod transfer;

//! SQL that both databases share: a module of each adapter, compiled for its database.
//!
//! `dialect` and `schema` are those of the adapter and hold the differences, so there is no `#[cfg]` here and
//! no type that abstracts over both: code that is wrong for one database does not compile.
//!
//! `events`, `found_keys`, `tables` and `validity` are beside this module, because the adapters' own queries use
//! them too.
//!
//! Queries that differ, because the databases plan, lock or search differently, are in `postgres/` and
//! `sqlite/`.

use super::{dialect, events, schema, validity};

/// Runs the read of a port method: a closure over a connection, or a call of a function that takes the
/// connection first.
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

/// Runs the change of a port method in one transaction. An optional claim says how much reserved disk space
/// it may use.
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

/// The identifier of the row that a form with this idempotency key added before, if one did; per scope, such
/// as an organization.
macro_rules! created_with {
    ($connection:expr, $table:ident.$scope_column:ident, $scope:expr, $key:expr) => {
        match $key {
            Some(key) => $table::table
                .filter($table::$scope_column.eq(StoredId($scope)))
                .filter($table::idempotency_key.eq(key.to_bytes().to_vec()))
                .select($table::id)
                .get_result::<StoredId>($connection)
                .await
                .optional()?
                .map(|id| id.0),
            None => None,
        }
    };
}

mod access_changes;
mod accounts;
pub(crate) mod api_keys;
mod audit_log;
pub(crate) mod authority;
mod changes;
pub(crate) mod concerns;
pub(super) mod credentials;
pub(crate) mod due_keys;
pub(crate) mod end_of_membership;
mod installation;
pub(crate) mod invitations;
mod last_uses;
pub(crate) mod locked_member;
pub(crate) mod members;
mod memberships;
mod names;
pub(crate) mod open_invitations;
pub(crate) mod organization_keys;
mod organizations;
pub(crate) mod people;
mod planned_ends;
mod projects;
mod retention;
pub(crate) mod schema_state;
mod sessions;
mod throttle;
pub(crate) mod transfer;

//! Cancels a read whose caller has stopped waiting.
//!
//! SQLite has `sqlite3_interrupt` for this, but diesel does not expose it, and `unsafe` code is forbidden
//! here. So a statement that may scan many rows calls a user-defined function for each row, which fails once
//! the caller no longer waits.

use diesel::QueryResult;
use diesel::prelude::SqliteConnection;
use diesel::serialize::{IsNull, Output, Result, ToSql};
use diesel::sql_types::{Binary, Bool};
use diesel::sqlite::Sqlite;

use crate::abort::TooSlow;

diesel::define_sql_function! {
    /// Returns true, or an error once the caller no longer waits. The argument is not used, but without a
    /// column of the row SQLite may call the function only once per table.
    fn not_cancelled(row: Binary) -> Bool;
}

#[derive(Debug)]
struct NotCancelled(bool);

impl ToSql<Bool, Sqlite> for NotCancelled {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> Result {
        if !self.0 {
            return Err(TooSlow::Answer.into());
        }
        out.set_value(1_i32);
        Ok(IsNull::No)
    }
}

/// Registers the function on a connection, with the check whether the caller still waits.
pub(super) fn register(
    connection: &mut SqliteConnection,
    is_awaited: impl Fn() -> bool + Send + std::panic::UnwindSafe + 'static,
) -> QueryResult<()> {
    not_cancelled_utils::register_nondeterministic_impl(connection, move |_: Vec<u8>| {
        NotCancelled(is_awaited())
    })
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use keyward_domain::administration::ports::{
        HolderStatusFilter, KeySelection, MemberFilter, MemberStore, OrganizationKeyFilter,
        OrganizationKeyStore, ProjectFilter, ProjectStatus, ProjectStore,
    };
    use keyward_domain::id::{ApiKeyId, MembershipId, OrganizationId};
    use keyward_domain::page::{PageRequest, PageSize};
    use keyward_domain::ports::{
        ApiKeys, AuditFilter, AuditLog, DescendantKeys, KeyFilter, StatusFilter, StorageError,
    };
    use tempfile::TempDir;
    use uuid::Uuid;

    use crate::sqlite::SqliteStore;
    use crate::sqlite::tests::scene::scene;

    /// Whether the statement is cancellable: it fails once the caller no longer waits, and only then.
    async fn asks<T>(store: &SqliteStore, statement: impl AsyncFn() -> Result<T, StorageError>) -> bool {
        let answered = statement().await;
        assert!(answered.is_ok(), "{:?}", answered.err());
        for reader in store.readers.idle().iter_mut() {
            super::register(&mut reader.connection, || false).unwrap();
        }
        match statement().await {
            Ok(_) => false,
            Err(StorageError::Defect(error)) => error.to_string() == "the database did not answer in time",
            Err(other) => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn every_large_query_stops_when_cancelled() {
        let directory = TempDir::new().unwrap();
        let store = scene(&directory).await;
        let organization = OrganizationId::from_uuid(Uuid::nil());
        let consumer = MembershipId::from_uuid(Uuid::nil());
        let key = ApiKeyId::from_uuid(Uuid::nil());
        let (all, x) = (StatusFilter::All, Some("x"));
        let descendants = || KeySelection::Keys {
            ids: vec![key],
            descendants: DescendantKeys::Revoke,
        };
        let of_consumer = || KeySelection::OfConsumer(consumer);
        let (keys, owners) = (&store as &dyn ApiKeys, &store as &dyn OrganizationKeyStore);
        assert!(
            asks(&store, async || keys
                .list(consumer, KeyFilter::new(all, x), first(), DateTime::UNIX_EPOCH)
                .await)
            .await
        );
        assert!(
            asks(&store, async || keys
                .valid_descendants(consumer, key, DateTime::UNIX_EPOCH)
                .await)
            .await
        );
        let held = || OrganizationKeyFilter::new(all, None).held_by(HolderStatusFilter::Members);
        assert!(
            asks(&store, async || owners
                .list(organization, held(), first(), DateTime::UNIX_EPOCH)
                .await)
            .await
        );
        assert!(
            asks(&store, async || owners
                .revocation_preview(organization, descendants(), DateTime::UNIX_EPOCH)
                .await)
            .await
        );
        assert!(
            asks(&store, async || owners
                .revocation_preview(organization, of_consumer(), DateTime::UNIX_EPOCH)
                .await)
            .await
        );
        let members = &store as &dyn MemberStore;
        let named = || MemberFilter::new(x);
        assert!(
            asks(&store, async || members
                .list(organization, named(), first(), DateTime::UNIX_EPOCH)
                .await)
            .await
        );
        let projects = &store as &dyn ProjectStore;
        let called = || ProjectFilter::new(ProjectStatus::All, x);
        assert!(
            asks(&store, async || projects
                .list(organization, called(), first(), DateTime::UNIX_EPOCH)
                .await)
            .await
        );
        let log = &store as &dyn AuditLog;
        assert!(
            asks(&store, async || log
                .list(Some(organization), AuditFilter::default(), first())
                .await)
            .await
        );
    }

    fn first<Id>() -> PageRequest<Id> {
        PageRequest {
            size: PageSize::DEFAULT,
            after: None,
        }
    }
}

//! What the role that serves may do, beyond what it needs.

use std::convert::Infallible;

use diesel::dsl::sql;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use keyward_domain::ports::StorageError;

use super::store::PostgresStore;
use crate::abort::Abort;

impl PostgresStore {
    /// Whether this store's role may change or remove audit events, as far as the database's rights go. (Triggers refuse
    /// it all the same.)
    ///
    /// # Errors
    /// Only if the database does not answer.
    pub async fn may_rewrite_audit_log(&self) -> Result<bool, StorageError> {
        self.read(|connection| {
            Box::pin(async move {
                let any = "has_table_privilege('audit_events', 'UPDATE, DELETE, TRUNCATE')";
                let may = diesel::select(sql::<Bool>(any)).get_result(connection).await?;
                Ok::<_, Abort<Infallible>>(may)
            })
        })
        .await
    }
}

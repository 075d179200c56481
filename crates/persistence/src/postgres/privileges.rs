//! Checks whether the serving role has more privileges than it needs.

use std::convert::Infallible;

use diesel::dsl::sql;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use keyward_domain::ports::StorageError;

use super::store::PostgresStore;
use crate::abort::Abort;

impl PostgresStore {
    /// Whether this store's role may update or delete audit events although it does not own the table. Then
    /// only triggers protect them, and a role that may delete rows can make the triggers believe that all
    /// events are old.
    ///
    /// # Errors
    /// Only if the database does not answer.
    pub async fn may_rewrite_audit_log_of_another(&self) -> Result<bool, StorageError> {
        self.read(|connection| {
            Box::pin(async move {
                let may =
                    "has_table_privilege('audit_events', 'UPDATE, DELETE, TRUNCATE') AND NOT pg_has_role(
                    (SELECT relowner FROM pg_class WHERE oid = 'audit_events'::regclass), 'USAGE')";
                let may = diesel::select(sql::<Bool>(may)).get_result(connection).await?;
                Ok::<_, Abort<Infallible>>(may)
            })
        })
        .await
    }
}

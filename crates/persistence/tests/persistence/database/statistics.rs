//! PostgreSQL's counters and statistics of the tables.

use super::Database;

impl Database {
    /// How many rows of a table have been read, by an index or one after the other. Only PostgreSQL counts
    /// them, and a connection reports its count when it ends, so all are ended.
    pub(crate) async fn rows_read(&self, table: &str) -> usize {
        let of_indexes =
            format!("SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = '{table}'");
        self.reads(table, &of_indexes).await
    }

    /// The same without entries of indexes whose rows were not read.
    pub(crate) async fn rows_fetched(&self, table: &str) -> usize {
        self.reads(table, "idx_tup_fetch").await
    }

    async fn reads(&self, table: &str, by_indexes: &str) -> usize {
        self.texts(
            "SELECT pg_terminate_backend(pid, 30000)::text AS text FROM pg_stat_activity
             WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()",
        )
        .await;
        let read = self
            .texts(&format!(
                "SELECT (seq_tup_read + ({by_indexes}))::text AS text FROM pg_stat_user_tables WHERE relname = '{table}'"
            ))
            .await;
        read.concat().parse().expect("a count")
    }

    /// Makes PostgreSQL plan and read as it does after a while, with the number of rows known and every page
    /// visible to all transactions. VACUUM marks a page visible only if its commits are on disk. Test servers
    /// commit asynchronously, and PostgreSQL keeps one position for several neighbouring commits, other
    /// tests' too, so one VACUUM may not be enough.
    pub(crate) async fn settle(&self) {
        if !self.is_postgres() {
            return;
        }
        for _ in 0..100 {
            self.execute("SET synchronous_commit = on; SELECT pg_logical_emit_message(true, '', '')")
                .await;
            self.execute("VACUUM ANALYZE").await;
            let unsettled = self
                .texts(
                    "SELECT relname::text AS text FROM pg_class
                     WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relallvisible < relpages",
                )
                .await;
            if unsettled.is_empty() {
                return;
            }
        }
        panic!("VACUUM leaves rows that not all transactions see");
    }
}

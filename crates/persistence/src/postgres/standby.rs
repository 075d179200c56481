//! Synchronous standbys, and what a commit that waits for one means for other changes.
//!
//! While too few standbys are connected, a commit waits for as long as it takes. PostgreSQL does not notice
//! meanwhile that its client has closed the connection, so a commit that was given up keeps its connection.
//! If each change left one, they would use up `max_connections`, and reads would fail, too. So changes are
//! refused before they begin for as long as there is such a commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use diesel::QueryResult;
use diesel::dsl::sql;
use diesel::sql_types::{Bool, Double};
use diesel_async::{AsyncPgConnection, RunQueryDsl as _};
use tracing::warn;

/// Why a change is refused before it begins.
#[derive(Debug, thiserror::Error)]
#[error("commits wait for a synchronous standby")]
pub(super) struct StandbyAway;

/// How many commits were given up that may still wait for a standby.
#[derive(Clone, Default)]
pub(super) struct GivenUpCommits(Arc<AtomicU64>);

impl GivenUpCommits {
    /// Notes that a commit was given up.
    pub(super) fn note(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether a commit, of this server or of another one, has waited for a standby for so long. The database
    /// is asked only since a commit was given up here, and compares times of its own clock. One that does not
    /// say so is one where none waits.
    pub(super) async fn one_waits_for_standby(
        &self,
        mut connection: &AsyncPgConnection,
        for_long: Duration,
    ) -> bool {
        let given_up = AtomicU64::load(&self.0, Ordering::Relaxed);
        if given_up == 0 {
            return false;
        }
        let waiting = sql::<Bool>(
            "EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep' \
             AND query_start <= clock_timestamp() - make_interval(secs => ",
        )
        .bind::<Double, _>(for_long.as_secs_f64())
        .sql("))");
        let asked: QueryResult<bool> = diesel::select(waiting).get_result(&mut connection).await;
        let one_waits = asked.unwrap_or_else(|error| {
            warn!(%error, "commits that wait for a standby are not known");
            false
        });
        if !one_waits {
            // Not of those that were given up meanwhile.
            _ = self
                .0
                .compare_exchange(given_up, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
        one_waits
    }
}

/// Whether commits wait for standbys. If so, another session may see a change that no standby has: that of a
/// commit whose wait was ended.
pub(super) async fn commits_wait_for_standbys(mut connection: &AsyncPgConnection) -> QueryResult<bool> {
    let are_named = sql::<Bool>("current_setting('synchronous_standby_names') <> ''");
    diesel::select(are_named).get_result(&mut connection).await
}

//! Synchronous standbys, and commits that wait for one.
//!
//! While too few standbys are connected, a commit waits without a limit. Meanwhile, PostgreSQL does not
//! notice that its client has closed the connection, so an abandoned commit keeps its connection. If each
//! change left one, they would use up `max_connections`, and reads would fail, too. So new changes are
//! refused as long as there is such a commit.

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

/// How many commits were abandoned that may still wait for a standby.
#[derive(Clone, Default)]
pub(super) struct AbandonedCommits(Arc<AtomicU64>);

impl AbandonedCommits {
    /// Notes that a commit was abandoned.
    pub(super) fn note(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether a commit, of this server or of another one, has waited for a standby for so long. The database
    /// is asked only after a commit was abandoned here, and compares times of its own clock. If it does not
    /// answer, no commit is assumed to wait.
    pub(super) async fn one_waits_for_standby(
        &self,
        mut connection: &AsyncPgConnection,
        for_long: Duration,
    ) -> bool {
        let abandoned = AtomicU64::load(&self.0, Ordering::Relaxed);
        if abandoned == 0 {
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
            warn!(%error, "cannot determine whether commits wait for a standby");
            false
        });
        if !one_waits {
            // Not of those that were abandoned meanwhile.
            _ = self
                .0
                .compare_exchange(abandoned, 0, Ordering::Relaxed, Ordering::Relaxed);
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

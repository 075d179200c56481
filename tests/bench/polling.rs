//! The cost of idle servers, which only poll for changes.

use std::fs;
use std::time::Duration;

use tokio::time::sleep;
use tokio_postgres::NoTls;

use crate::process::Server;
use crate::rows::{Cache, Meanwhile};
use keyward_tests::storage::Storage;

/// How long servers are left alone before anything counts: each starts its jobs.
const REST: Duration = Duration::from_secs(3);

/// The milliseconds of CPU that PostgreSQL needs a second for this many idle servers, each time.
pub(crate) async fn database_millis(
    storage: &Storage,
    servers: usize,
    times: usize,
    time: Duration,
) -> Vec<f64> {
    let mut running = Vec::new();
    for _ in 0..servers {
        running.push(Server::keyward(storage, Cache::On, Meanwhile::Nothing, &[]).await);
    }
    sleep(REST).await;
    let mut values = Vec::new();
    for _ in 0..times {
        let before = connections_cpu(storage).await;
        sleep(time).await;
        let cpu = connections_cpu(storage).await.saturating_sub(before);
        values.push(cpu.as_secs_f64() * 1e3 / time.as_secs_f64());
    }
    for server in running {
        server.end().await;
    }
    values
}

/// The CPU time that the connections to a database have had so far, but for the one that asks.
async fn connections_cpu(storage: &Storage) -> Duration {
    let (client, connection) = tokio_postgres::connect(storage.as_postgres().url(), NoTls)
        .await
        .expect("a connection");
    let connection = tokio::spawn(connection);
    let processes =
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let rows = client.query(processes, &[]).await.expect("processes");
    drop(client);
    let _ = connection.await;
    rows.iter().map(|row| cpu(row.get(0))).sum()
}

/// To a nanosecond, since the machine runs the database, too (proc(5)); none for a process that has just
/// ended.
fn cpu(process: i32) -> Duration {
    let statistics = fs::read_to_string(format!("/proc/{process}/schedstat")).unwrap_or_default();
    let nanoseconds = statistics.split(' ').next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

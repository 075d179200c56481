//! Other clients that disturb the database until they are asked to end.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_postgres::Client;

use crate::cluster::{Cluster, connect};
use crate::standby::Standby;

/// How often those are looked for who listen: several times between two polls.
const LOOK: Duration = Duration::from_millis(50);

/// Connections that learn of changes: they have just read them, or begun to listen.
const KILL_LISTENERS: &str = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'keyward' \
     AND (query LIKE '%\"access_changes\"%' OR query LIKE 'LISTEN %')";

/// How many take a connection at once: more than a server opens.
const AT_ONCE: usize = 20;

/// Others who use the database.
pub(crate) enum Pressure {
    /// They have all its connections.
    AllConnections(Vec<Client>),
    /// They end others' connections, and count them.
    Killer(oneshot::Sender<()>, JoinHandle<i64>),
    /// A standby that takes over.
    Standby(Box<Standby>),
}

impl Pressure {
    /// Takes every connection, those of the servers as well. The last places are reserved for superusers, as
    /// these are.
    pub(crate) async fn exhaust(cluster: &Cluster) -> Self {
        let (url, administrator) = (
            cluster.url().maintenance(),
            cluster.administrator("postgres").await,
        );
        let end = format!(
            "SELECT count(pg_terminate_backend(pid)) \
             FROM (SELECT pid FROM pg_stat_activity WHERE usename = 'keyward' LIMIT {AT_ONCE}) AS found"
        );
        let (mut connections, mut rounds_without) = (Vec::new(), 0);
        // A connection that is being accepted does not count at once.
        while rounds_without < 2 {
            let asking = join_all((0..AT_ONCE).map(|_| connect(&url))).await;
            let before = connections.len();
            connections.extend(asking.into_iter().flatten());
            if connections.len() == before {
                let row = administrator.query_one(&end, &[]).await;
                let ended: i64 = row.expect("the servers' connections").get(0);
                rounds_without = if ended == 0 { rounds_without + 1 } else { 0 };
            }
        }
        connections.push(administrator);
        Self::AllConnections(connections)
    }

    /// Repeatedly ends the connections on which servers get notifications of changes.
    pub(crate) async fn kill_listeners(cluster: &Cluster) -> Self {
        let administrator = cluster.administrator("postgres").await;
        let (end, mut ended) = oneshot::channel();
        let killing = tokio::spawn(async move {
            let mut killed = 0;
            while ended.try_recv().is_err() {
                let row = administrator.query_one(KILL_LISTENERS, &[]).await;
                killed += row.expect("the servers' connections").get::<_, i64>(0);
                sleep(LOOK).await;
            }
            killed
        });
        Self::Killer(end, killing)
    }

    pub(crate) async fn end(self) {
        match self {
            Self::AllConnections(connections) => drop(connections),
            Self::Killer(end, killing) => {
                end.send(()).expect("it goes on until now");
                let killed = killing.await.expect("no panic");
                assert!(killed >= 6, "only {killed} connections were killed");
            }
            Self::Standby(_) => panic!("a standby is promoted"),
        }
    }
}

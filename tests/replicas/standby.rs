//! A standby with synchronous replication, made and promoted as administrators do it.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::time::Duration;

use keyward_test_database::server_program;
use tokio::time::sleep;

use crate::cluster::{Cluster, Folder};
use crate::proxy::Proxy;

const LOOK: Duration = Duration::from_millis(20);

/// A copy of a cluster that follows it.
pub(crate) struct Standby {
    cluster: Cluster,
    /// Between the primary and the standby.
    replication: Proxy,
}

impl Standby {
    /// Copies the primary, and waits until its transactions wait for the copy. The database's default is not
    /// to wait, which the servers must override.
    pub(crate) async fn of(primary: &Cluster, database: &str) -> Self {
        let replication = Proxy::begin(primary.address()).await;
        let folder = Folder::new();
        let data = folder.cluster().join("data");
        let made = fs::create_dir(folder.cluster());
        made.expect("a folder for the standby");
        let password_file = primary.folder().cluster().join("password");
        let copied = fs::copy(&password_file, folder.cluster().join("password"));
        copied.expect("the same password");
        let owner = fs::metadata(&password_file).expect("the password's owner");
        for path in [folder.cluster(), folder.cluster().join("password")] {
            let given = chown(path, Some(owner.uid()), Some(owner.gid()));
            given.expect("a folder of the server's user");
        }
        let mut copy = server_program("pg_basebackup").expect("PostgreSQL's programs");
        let at = replication.address();
        copy.args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync"])
            .args(["--host", &at.ip().to_string(), "--port", &at.port().to_string()])
            .args(["--username", "postgres", "--pgdata"])
            .arg(&data)
            .current_dir("/")
            .env(
                "PGPASSWORD",
                fs::read_to_string(&password_file).expect("the password").trim(),
            );
        let done = tokio::task::spawn_blocking(move || copy.status())
            .await
            .expect("no panic");
        assert!(
            done.expect("pg_basebackup starts").success(),
            "pg_basebackup failed"
        );
        let standby = tokio::task::spawn_blocking(|| Cluster::of(folder))
            .await
            .expect("no panic");
        let settings = format!(
            "ALTER DATABASE {database} SET synchronous_commit = local; \
             SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"
        );
        primary
            .execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            .await;
        primary.execute("SELECT pg_reload_conf()").await;
        primary.execute(&settings).await;
        let client = primary.administrator("postgres").await;
        let is_waited_for = "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')";
        while !client
            .query_one(is_waited_for, &[])
            .await
            .expect("its standbys")
            .get::<_, bool>(0)
        {
            sleep(LOOK).await;
        }
        Self {
            cluster: standby,
            replication,
        }
    }

    /// Cuts replication from the primary.
    pub(crate) fn fall_behind(&self) {
        self.replication.cut();
    }

    /// Makes it the primary.
    pub(crate) async fn promote(self) -> Cluster {
        let Self { cluster, .. } = self;
        cluster.promote();
        cluster
    }
}

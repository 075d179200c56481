//! A PostgreSQL server that can be stopped, restarted, and copied to a standby.

use std::fs::Permissions;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use keyward_test_database::{Server, ServerUrl, server_program};
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

/// Enough for three servers.
const SETTINGS: [&str; 1] = ["max_connections=100"];

/// A folder that is removed with this value.
pub(crate) struct Folder(TempDir);

/// A server and its data.
pub(crate) struct Cluster {
    // Before the folder, so that it ends before its data is removed.
    server: Option<Server>,
    folder: Folder,
}

impl Folder {
    pub(crate) fn new() -> Self {
        // PostgreSQL runs as another user if root runs this.
        let permissions = Permissions::from_mode(0o755);
        let folder = tempfile::Builder::new().permissions(permissions).tempdir();
        Self(folder.expect("a folder"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Where a server keeps its data and its password.
    pub(crate) fn cluster(&self) -> PathBuf {
        self.0.path().join("cluster")
    }
}

impl Cluster {
    pub(crate) fn make() -> Self {
        Self::of(Folder::new())
    }

    /// A server with the data in this folder, or new ones.
    pub(crate) fn of(folder: Folder) -> Self {
        let mut cluster = Self { server: None, folder };
        cluster.start(&[]);
        cluster
    }

    /// Starts it at another port, with these settings (`name=value`) beside the usual ones.
    pub(crate) fn start(&mut self, settings: &[&str]) {
        let settings = [&SETTINGS, settings].concat();
        let server = Server::start_kept(&self.folder.cluster(), &settings).expect("PostgreSQL starts");
        self.server = Some(server);
    }

    /// Ends it, as `systemctl stop` does.
    pub(crate) fn stop(&mut self) {
        self.server = None;
    }

    /// Ends it at once, as `kill -9` does; standbys do not get the remaining log.
    pub(crate) fn crash(&mut self) {
        self.control(&["stop", "--mode=immediate"]);
        self.stop();
    }

    /// Makes a standby the primary.
    pub(crate) fn promote(&self) {
        self.control(&["promote"]);
    }

    fn control(&self, arguments: &[&str]) {
        let mut control = server_program("pg_ctl").expect("PostgreSQL's programs");
        control.args(arguments).arg("--silent");
        control.arg("--pgdata").arg(self.folder.cluster().join("data"));
        let done = control.current_dir("/").status().expect("pg_ctl starts");
        assert!(done.success(), "pg_ctl {arguments:?}: {done}");
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    pub(crate) fn url(&self) -> &ServerUrl {
        self.server.as_ref().expect("a running server").url()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        let url = self.url().maintenance();
        let address = url.rsplit_once('@').and_then(|(_, rest)| rest.split_once('/'));
        let (address, _) = address.expect("a URL with a user");
        address.parse().expect("an address")
    }

    /// A connection with all rights.
    pub(crate) async fn administrator(&self, database: &str) -> Client {
        connect(&self.url().of_database(database))
            .await
            .expect("a connection")
    }

    pub(crate) async fn execute(&self, statement: &str) {
        let client = self.administrator("postgres").await;
        let done = client.batch_execute(statement).await;
        done.unwrap_or_else(|error| panic!("{statement}: {error:?}"));
    }
}

/// Connects; the connection ends when the client is dropped.
pub(crate) async fn connect(url: &str) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(async move {
        // What breaks the connection reaches the client, too.
        let _ = connection.await;
    });
    Ok(client)
}

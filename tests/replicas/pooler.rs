//! pgbouncer in session mode, as the documents want it.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use crate::cluster::connect;
use crate::installation::{free_port, url};
use keyward_tests::keyward::TIMEOUT;

const LOOK: Duration = Duration::from_millis(20);

/// A pooler, which ends when it is dropped.
pub(crate) struct Pooler {
    address: SocketAddr,
    _process: Child,
}

impl Pooler {
    pub(crate) fn before(database: SocketAddr, folder: &Path) -> Self {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        let file = folder.join("pgbouncer.ini");
        let settings = format!(
            "[databases]\n* = host={} port={} user=keyward password=keyward\n\
             [pgbouncer]\nlisten_addr = {}\nlisten_port = {}\nunix_socket_dir =\nauth_type = any\n\
             pool_mode = session\ndefault_pool_size = 80\nmax_client_conn = 200\n",
            database.ip(),
            database.port(),
            address.ip(),
            address.port(),
        );
        fs::write(&file, settings).expect("pgbouncer's settings");
        let mut command = Command::new("pgbouncer");
        command
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.kill_on_drop(true);
        if rustix::process::getuid().is_root() {
            // It refuses to run as root.
            command.args(["--user", "postgres"]);
        }
        Self {
            address,
            _process: command.spawn().expect("pgbouncer is installed"),
        }
    }

    /// Waits until it leads to the database; returns where it is.
    pub(crate) async fn until_ready(&self, database: &str) -> SocketAddr {
        let deadline = Instant::now() + TIMEOUT;
        while connect(&url(self.address, database)).await.is_err() {
            assert!(Instant::now() < deadline, "pgbouncer does not get ready");
            sleep(LOOK).await;
        }
        self.address
    }
}

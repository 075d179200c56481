//! What the server holds, seen from outside (proc(5)).

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::sleep;

/// How often to look.
const LOOK: Duration = Duration::from_millis(200);

/// A server that is looked at until this is dropped.
pub(crate) struct Watch {
    most: Arc<Most>,
    looking: JoinHandle<()>,
}

/// The most of each that was seen at one moment.
#[derive(Default)]
struct Most {
    resident_kib: AtomicU64,
    connections: AtomicUsize,
}

impl Watch {
    pub(crate) fn begin(process: u32, port: u16) -> Self {
        let most = Arc::new(Most::default());
        let seen = Arc::clone(&most);
        let looking = tokio::spawn(async move {
            loop {
                let (resident, connections) = (resident_kib(process), connections(port));
                seen.resident_kib.fetch_max(resident, Ordering::Relaxed);
                seen.connections.fetch_max(connections, Ordering::Relaxed);
                sleep(LOOK).await;
            }
        });
        Self { most, looking }
    }

    /// The most resident memory, in MiB.
    pub(crate) fn peak_mib(&self) -> u64 {
        self.most.resident_kib.load(Ordering::Relaxed) / 1024
    }

    /// The most connections that were accepted and not closed.
    pub(crate) fn most_connections(&self) -> usize {
        self.most.connections.load(Ordering::Relaxed)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.looking.abort();
    }
}

fn resident_kib(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let resident = resident.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    resident.unwrap_or_default()
}

/// The connections to a port of this machine that its server has accepted, and neither end has closed.
fn connections(port: u16) -> usize {
    const ESTABLISHED: &str = "01";
    /// In the kernel's queue, a connection belongs to no process.
    const NOT_ACCEPTED: &str = "0";
    let port = format!(":{port:04X}");
    let sockets = fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let accepted = sockets.lines().filter(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        matches!(fields.as_slice(), [_, local, _, ESTABLISHED, _, _, _, _, _, inode, ..]
            if local.ends_with(&port) && *inode != NOT_ACCEPTED)
    });
    accepted.count()
}

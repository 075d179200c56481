//! The server's memory and open files, from proc(5).

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::sleep;

/// How often to look.
const LOOK: Duration = Duration::from_millis(200);

/// Counts the connections of a server until this is dropped. The kernel lists all of the machine's for it, which
/// takes long where an attack opens hundreds a second.
pub(crate) struct Watch {
    most: Arc<AtomicUsize>,
    looking: JoinHandle<()>,
}

impl Watch {
    pub(crate) fn begin(port: u16) -> Self {
        let most = Arc::new(AtomicUsize::default());
        let seen = Arc::clone(&most);
        let looking = tokio::spawn(async move {
            loop {
                seen.fetch_max(connections(port), Ordering::Relaxed);
                sleep(LOOK).await;
            }
        });
        Self { most, looking }
    }

    /// The most connections that were accepted and not closed at one moment.
    pub(crate) fn most_connections(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.looking.abort();
    }
}

/// The most resident memory that a process has had, in MiB.
pub(crate) fn peak_mib(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("the server runs");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.expect("its peak") / 1024
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

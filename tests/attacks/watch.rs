//! What the server's process holds, seen from outside (proc(5)).

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::sleep;

/// How often to look.
const LOOK: Duration = Duration::from_millis(100);

/// A process that is looked at until this is dropped.
pub(crate) struct Watch {
    most: Arc<Most>,
    /// The files that were open when the watch began.
    open_files_at_first: usize,
    looking: JoinHandle<()>,
}

/// The most of each that was seen.
#[derive(Default)]
struct Most {
    resident_kib: AtomicU64,
    open_files: AtomicUsize,
}

impl Watch {
    pub(crate) fn begin(process: u32) -> Self {
        let most = Arc::new(Most::default());
        let seen = Arc::clone(&most);
        let looking = tokio::spawn(async move {
            loop {
                seen.resident_kib
                    .fetch_max(resident_kib(process), Ordering::Relaxed);
                seen.open_files.fetch_max(open_files(process), Ordering::Relaxed);
                sleep(LOOK).await;
            }
        });
        Self {
            most,
            open_files_at_first: open_files(process),
            looking,
        }
    }

    /// The most resident memory, in MiB.
    pub(crate) fn peak_mib(&self) -> u64 {
        self.most.resident_kib.load(Ordering::Relaxed) / 1024
    }

    /// The most files that were open at one moment beyond those at first. Each connection is one.
    pub(crate) fn most_opened(&self) -> usize {
        let most = self.most.open_files.load(Ordering::Relaxed);
        most.saturating_sub(self.open_files_at_first)
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

fn open_files(process: u32) -> usize {
    fs::read_dir(format!("/proc/{process}/fd")).map_or(0, Iterator::count)
}

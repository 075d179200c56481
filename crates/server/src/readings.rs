//! What is read at the moment in which metrics are asked for.

use std::fs;
use std::sync::Arc;

use keyward_domain::recent_uses::RecentUses;
use keyward_verification_cache::{BootClock, Lookups, VerificationCache};
use metrics::Label;

use crate::measurements::Measurements;
use crate::metric::{
    BUILD, CACHE_ENTRIES, CACHE_FILLS, CACHE_HITS, CACHE_MISSES, LEASE_HELD, LEASE_LEFT, Metric, OPEN_FILES,
    POOL_IN_USE, POOL_LIMIT, POOL_OPEN, POOL_WAITING, RESIDENT_MEMORY, UNWRITTEN_USES,
};
use crate::store::PoolProbe;

/// The parts of a server that are asked, none of which waits for anything: neither the database nor another server.
pub(crate) struct Readings {
    /// None if verifications are not kept in memory.
    pub(crate) cache: Option<Arc<VerificationCache>>,
    pub(crate) lookups: Arc<Lookups>,
    pub(crate) boot_clock: Arc<dyn BootClock>,
    pub(crate) pool: Arc<dyn PoolProbe>,
    pub(crate) recent_uses: Arc<RecentUses>,
}

impl Readings {
    /// Asks all of them.
    pub(crate) fn take(&self, measurements: &Measurements) {
        let version = Label::new("version", env!("KEYWARD_VERSION"));
        measurements.set(&BUILD, vec![version], 1.0);
        let set = |gauge: &Metric, value: usize| measurements.set(gauge, Vec::new(), as_float(value));
        if let Some(cache) = &self.cache {
            measurements.set_count(&CACHE_HITS, self.lookups.hits());
            measurements.set_count(&CACHE_MISSES, self.lookups.misses());
            measurements.set_count(&CACHE_FILLS, self.lookups.fills());
            set(&CACHE_ENTRIES, cache.len());
            let left = cache.lease_left(self.boot_clock.now());
            set(&LEASE_HELD, usize::from(left.is_some()));
            measurements.set(&LEASE_LEFT, Vec::new(), left.unwrap_or_default().as_secs_f64());
        }
        if let Some(pool) = self.pool.pool_usage() {
            set(&POOL_LIMIT, pool.limit);
            set(&POOL_OPEN, pool.open);
            set(&POOL_IN_USE, pool.in_use);
            set(&POOL_WAITING, pool.waiting);
        }
        set(&UNWRITTEN_USES, self.recent_uses.unwritten());
        if let Some(bytes) = resident_memory() {
            set(&RESIDENT_MEMORY, bytes);
        }
        if let Ok(files) = fs::read_dir("/proc/self/fd") {
            set(&OPEN_FILES, files.count());
        }
    }
}

/// In bytes, as Linux tells.
fn resident_memory() -> Option<usize> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: usize = resident.trim().strip_suffix(" kB")?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// Exact up to 2^53.
#[expect(clippy::as_conversions, reason = "there is no other conversion to f64")]
fn as_float(value: usize) -> f64 {
    value as f64
}

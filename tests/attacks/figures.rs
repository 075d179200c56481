//! How long the answers took, as a table.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::person::{Answered, TIMEOUT};
use crate::way::Way;

/// The maximum memory of the server, with thousands of connections held.
const MEMORY_MIB: u64 = 512;

/// The results of one attack on one database.
#[derive(Default)]
pub(crate) struct Figures {
    by_way: BTreeMap<Way, Samples>,
    /// Answers that turned out to be untrue.
    pub(crate) wrong: Vec<String>,
    pub(crate) peak_mib: u64,
    pub(crate) attacker: String,
}

#[derive(Default)]
struct Samples {
    latencies: Vec<Duration>,
    failures: Vec<String>,
}

impl Figures {
    pub(crate) fn add(&mut self, way: Way, answered: Answered) {
        let samples = self.by_way.entry(way).or_default();
        match answered {
            Ok(latency) => samples.latencies.push(latency),
            Err(failure) => {
                samples.latencies.push(TIMEOUT);
                samples.failures.push(failure);
            }
        }
    }

    /// Whether all revocations were answered in time, and correctly.
    pub(crate) fn hold(&self) -> bool {
        self.nothing_failed() && !self.someone_is_late()
    }

    /// Whether the only failure is that a steady revoker waited too long.
    pub(crate) fn late(&self) -> bool {
        let once = self.by_way.get(&Way::StolenKeys);
        self.nothing_failed()
            && self.someone_is_late()
            && once.is_none_or(|samples| !samples.late(Way::StolenKeys))
    }

    fn nothing_failed(&self) -> bool {
        let answered = |samples: &Samples| samples.failures.is_empty();
        self.wrong.is_empty()
            && self.peak_mib < MEMORY_MIB
            && !self.by_way.is_empty()
            && self.by_way.values().all(answered)
    }

    fn someone_is_late(&self) -> bool {
        self.by_way.iter().any(|(way, samples)| samples.late(*way))
    }
}

impl Samples {
    fn late(&self, way: Way) -> bool {
        self.percentile(99) >= way.bound()
    }

    /// By the nearest rank; of few samples the longest.
    fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * percent).div_ceil(100).max(1);
        sorted.get(rank - 1).copied().unwrap_or_default()
    }
}

/// A line for each way, and what went wrong below.
impl fmt::Display for Figures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "  {:<38} {:>6} {:>9} {:>9} {:>9} {:>9}",
            "", "count", "p50", "p99", "max", "failures"
        )?;
        for (way, samples) in &self.by_way {
            let milliseconds = |percent| format!("{} ms", samples.percentile(percent).as_millis());
            let (p50, p99, max) = (milliseconds(50), milliseconds(99), milliseconds(100));
            let late = if samples.late(*way) { "  LATE" } else { "" };
            let (count, failures) = (samples.latencies.len(), samples.failures.len());
            writeln!(
                formatter,
                "  {:<38} {count:>6} {p50:>9} {p99:>9} {max:>9} {failures:>9}{late}",
                way.name()
            )?;
        }
        writeln!(
            formatter,
            "  server's memory at most {} MiB of {MEMORY_MIB}; attackers' {}",
            self.peak_mib, self.attacker
        )?;
        for (way, samples) in &self.by_way {
            if let Some(failure) = samples.failures.first() {
                writeln!(formatter, "  FAILED, {}: {failure}", way.name())?;
            }
        }
        self.wrong
            .iter()
            .try_for_each(|wrong| writeln!(formatter, "  WRONG: {wrong}"))
    }
}

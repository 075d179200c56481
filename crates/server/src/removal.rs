//! The removal of what is kept no longer, at a pace that leaves the database to others.

use std::time::Duration;

use keyward_domain::retention::{Outlived, RemoveOutlivedError, Retention};
use tokio::time::Instant;

/// The shortest pause between two portions.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);

/// The most portions that are not full. After one there may be more to remove, since a store takes fewer where each gives
/// it much to do; but what becomes too old meanwhile, a little all the time, must not keep a removal from its end.
pub(crate) const MOST_SMALL_PORTIONS: u32 = 100;

/// Removes one kind of what is over, portion by portion.
pub(crate) struct Removal<'a> {
    retention: &'a Retention,
    kind: Outlived,
    removed: u64,
    small_portions: u32,
}

impl<'a> Removal<'a> {
    /// Has removed nothing yet.
    pub(crate) const fn of(kind: Outlived, retention: &'a Retention) -> Self {
        Self {
            retention,
            kind,
            removed: 0,
            small_portions: 0,
        }
    }

    /// How many were removed so far.
    pub(crate) const fn removed(&self) -> u64 {
        self.removed
    }

    /// Removes a portion, and says how long to leave the database to others before the next; none when it was the last.
    ///
    /// The pause is as long as the portion took, so that at most half of the time of a database's only writer is taken.
    pub(crate) async fn next_portion(&mut self) -> Result<Option<Duration>, RemoveOutlivedError> {
        let begun = Instant::now();
        let removed = self.retention.remove_some(self.kind).await?;
        self.removed += u64::from(removed);
        self.small_portions += u32::from(removed < Retention::PORTION);
        let is_last = removed == 0 || self.small_portions == MOST_SMALL_PORTIONS;
        Ok((!is_last).then(|| begun.elapsed().max(SHORTEST_PAUSE)))
    }
}

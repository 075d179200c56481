//! Which moments may be asked for.

use std::ops::RangeInclusive;

/// The years that may be asked for: every store has moments in them, and all are written with four digits. (chrono knows
/// some 260,000 in either direction, PostgreSQL those from 4713 BC.)
pub(super) const YEARS: RangeInclusive<i32> = 1..=9999;

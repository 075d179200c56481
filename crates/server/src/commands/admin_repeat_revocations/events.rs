//! The audit log on standard input.

use std::io::{BufRead, Read};

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use keyward_audit_export::json_lines::{MAX_LINE_BYTES, read_event};
use keyward_domain::access_removals::AccessRemovals;

use crate::commands::Failure;
use crate::output;
use crate::standard_input::StandardInputError;

/// The time of an event is taken before its commit, and servers' clocks differ: a change that a backup lacks
/// may have a time before it. What the backup already has is not repeated.
const MARGIN: TimeDelta = TimeDelta::hours(1);

/// Reads all lines, and reports how many of them count.
pub(super) fn read(mut input: impl BufRead, since: Option<DateTime<Utc>>) -> Result<AccessRemovals, Failure> {
    let since = since.map(|since| since - MARGIN);
    let mut removals = AccessRemovals::default();
    let (mut lines, mut considered) = (0, 0);
    let mut line = Vec::new();
    loop {
        line.clear();
        // With its end, or enough to see that it is too long.
        let mut at_most = input.by_ref().take(MAX_LINE_BYTES as u64 + 1);
        let read = at_most.read_until(b'\n', &mut line);
        if read.map_err(StandardInputError::Unreadable)? == 0 {
            break;
        }
        lines += 1;
        let event = read_event(line.strip_suffix(b"\n").unwrap_or(&line));
        let event = event.map_err(|source| Failure::NotAnEvent { line: lines, source })?;
        if since.is_none_or(|since| event.at >= since) {
            considered += 1;
            removals.add(&event);
        }
    }
    // What should have printed the log may have failed.
    if lines == 0 {
        return Err(Failure::NoEvents);
    }
    let since = since.map_or_else(String::new, |since| {
        let since = since.to_rfc3339_opts(SecondsFormat::Secs, true);
        format!(" since {since}, an hour before --since")
    });
    if considered == 0 {
        return Err(Failure::NoEventsSince(since));
    }
    output::report(&format!("Events considered: {considered} of {lines}{since}"));
    Ok(removals)
}

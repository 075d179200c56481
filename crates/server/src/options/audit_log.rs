//! The options of `keyward admin audit-log`.

use chrono::{DateTime, TimeDelta, Utc};
use clap::{ArgGroup, Args};
use keyward_domain::administration::FeedStart;
use keyward_domain::api_key::Expiry;
use keyward_domain::organization::Slug;

use super::storage::StorageOptions;

/// The options of `keyward admin audit-log`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("in_order").args(["follow", "after"]).multiple(true))]
pub(crate) struct AuditLogOptions {
    /// Only events of the organization with this slug, as in console URLs, instead of those of the
    /// installation
    #[arg(long, value_name = "SLUG", value_parser = Slug::parse)]
    pub(crate) organization: Option<Slug>,
    /// Only events of this day (UTC) and later, or from this moment on, such as 2026-01-31 or
    /// 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub(crate) since: Option<DateTime<Utc>>,
    /// Only events of this day (UTC) and earlier, or before this moment; not with --follow
    #[arg(long, value_name = "TIME", value_parser = until)]
    pub(crate) until: Option<DateTime<Utc>>,
    /// Print events in the order of their commits, each once, and then new events as they are committed
    ///
    /// Begins with the oldest event, or after the position that --after gives. Ends on SIGTERM or Ctrl-C, or
    /// when the reader of its output is gone. Waits for a database server that does not answer, also at the
    /// start, and ends with the reason when the server refuses.
    #[arg(long, conflicts_with = "until")]
    pub(crate) follow: bool,
    /// Print events in the order of their commits, each once, that come after this position
    ///
    /// The `position` of a printed line; `start` for all events; `end` for those that are committed from now
    /// on. Ends with the last event there is, unless --follow is given.
    #[arg(long, value_name = "POSITION", value_parser = after)]
    pub(crate) after: Option<FeedStart>,
    /// With --follow or --after: the events of the installation and of all organizations
    #[arg(long, conflicts_with = "organization", requires = "in_order")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) storage: StorageOptions,
}

fn after(text: &str) -> Result<FeedStart, String> {
    match text {
        "start" => Ok(FeedStart::Beginning),
        "end" => Ok(FeedStart::End),
        _ => text.parse().map(FeedStart::After).map_err(|_| {
            "expected the `position` of a line that was printed, or `start`, or `end`".to_owned()
        }),
    }
}

/// A day begins with its first moment.
pub(super) fn since(text: &str) -> Result<DateTime<Utc>, String> {
    moment(text).or_else(|| first_of_day(text)).ok_or_else(unreadable)
}

/// A day ends before the first moment of the next.
fn until(text: &str) -> Result<DateTime<Utc>, String> {
    let after_day = || first_of_day(text)?.checked_add_signed(TimeDelta::days(1));
    moment(text).or_else(after_day).ok_or_else(unreadable)
}

/// A moment with its offset (RFC 3339).
fn moment(text: &str) -> Option<DateTime<Utc>> {
    Expiry::parse_moment(text).ok()
}

fn first_of_day(text: &str) -> Option<DateTime<Utc>> {
    moment(&format!("{text}T00:00:00Z"))
}

fn unreadable() -> String {
    "expected a day such as 2026-01-31, or a moment such as 2026-01-31T12:00:00Z".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn day_covers_all_its_hours() {
        assert_eq!(since("2026-02-28"), Ok(at("2026-02-28T00:00:00Z")));
        assert_eq!(until("2026-02-28"), Ok(at("2026-03-01T00:00:00Z")));
        assert_eq!(until("9999-12-31"), Ok(at("+10000-01-01T00:00:00Z")));
    }

    #[test]
    fn timestamp_with_any_offset_is_one_instant() {
        for read in [since, until] {
            let moment = at("2026-01-31T11:00:00Z");
            assert_eq!(read("2026-01-31T11:00:00Z"), Ok(moment));
            assert_eq!(read("2026-01-31T12:00:00+01:00"), Ok(moment));
        }
    }

    #[test]
    fn invalid_date_is_rejected_with_examples() {
        for text in [
            "",
            "today",
            "31.1.2026",
            "2026-02-30",
            "2026-01-31T12:00:00",
            "2026-1-31",
            "+262142-12-31",
            "2026-01-31T12:00:00\u{2212}01:00",
            "2026-01-31T12:00:60Z",
            "7d",
        ] {
            for read in [since, until] {
                let complaint = read(text).unwrap_err();
                assert!(
                    complaint.contains("2026-01-31, or a moment such as 2026-01-31T12:00:00Z"),
                    "{text}: {complaint}"
                );
            }
        }
    }
}

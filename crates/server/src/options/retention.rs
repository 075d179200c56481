//! The options of `keyward serve` and `keyward clean-up` for retention.

use chrono::TimeDelta;
use clap::Args;
use keyward_domain::retention::{InvalidRetentionPeriod, RetentionPeriods};

use super::storage::StorageOptions;

/// A hundred years, in days.
const LONGEST: i64 = 36_500;

/// The options of `keyward clean-up`.
#[derive(Debug, Args)]
pub(crate) struct CleanUpOptions {
    /// Confirm that this machine's clock is right, and remove nothing
    ///
    /// Nothing is removed while the clock is more than seven days from where it was expected, which the log
    /// reports. Set the clock if it is wrong. If it is right, run this once: servers then continue within the
    /// hour.
    #[arg(long)]
    pub(crate) clock_is_right: bool,
    #[command(flatten)]
    pub(crate) retention: RetentionOptions,
    #[command(flatten)]
    pub(crate) storage: StorageOptions,
}

/// Retention periods, in days.
#[derive(Debug, Args)]
#[command(next_help_heading = "Retention")]
pub(crate) struct RetentionOptions {
    /// How long keys are kept after they are revoked or their user leaves, 15 to 36500
    ///
    /// Of each member, at most 10000 ended keys are kept, and those of the last 25 hours.
    #[arg(long, env = "KEYWARD_KEEP_REVOKED_KEYS", value_name = "DAYS",
          default_value_t = RetentionPeriods::default().dead_keys().num_days(),
          value_parser = days_for_form_records)]
    keep_revoked_keys: i64,
    /// How long invitations are kept after they are used, revoked or expired, 15 to 36500
    #[arg(long, env = "KEYWARD_KEEP_ENDED_INVITATIONS", value_name = "DAYS",
          default_value_t = RetentionPeriods::default().ended_invitations().num_days(),
          value_parser = days_for_form_records)]
    keep_ended_invitations: i64,
    /// How long console sessions are kept after they expire, 0 to 36500
    #[arg(long, env = "KEYWARD_KEEP_EXPIRED_SESSIONS", value_name = "DAYS",
          default_value_t = RetentionPeriods::default().expired_sessions().num_days(),
          value_parser = any_days)]
    keep_expired_sessions: i64,
    /// How long audit events are kept, 30 to 36500. Default: forever
    #[arg(long, env = "KEYWARD_KEEP_AUDIT_EVENTS", value_name = "DAYS",
          value_parser = days_for_audit_events)]
    keep_audit_events: Option<i64>,
}

impl RetentionOptions {
    /// For how long everything is kept.
    ///
    /// # Errors
    /// None: too short periods were refused when the options were read.
    pub(crate) fn periods(&self) -> Result<RetentionPeriods, InvalidRetentionPeriod> {
        let periods = RetentionPeriods::default()
            .with_dead_keys(TimeDelta::days(self.keep_revoked_keys))?
            .with_ended_invitations(TimeDelta::days(self.keep_ended_invitations))?
            .with_expired_sessions(TimeDelta::days(self.keep_expired_sessions))?;
        match self.keep_audit_events {
            Some(days) => periods.with_audit_events(TimeDelta::days(days)),
            None => Ok(periods),
        }
    }
}

fn any_days(text: &str) -> Result<i64, String> {
    days(text, TimeDelta::zero()).ok_or_else(|| format!("expected a number of days, 0 to {LONGEST}"))
}

fn days_for_form_records(text: &str) -> Result<i64, String> {
    let shortest = RetentionPeriods::MIN_FORM_RECORD_RETENTION;
    days(text, shortest).ok_or_else(|| {
        format!(
            "expected a number of days, {} to {LONGEST}: must be longer than a session, so that a form sent twice creates \
             nothing twice",
            shortest.num_days()
        )
    })
}

fn days_for_audit_events(text: &str) -> Result<i64, String> {
    let shortest = RetentionPeriods::MIN_AUDIT_EVENT_RETENTION;
    days(text, shortest).ok_or_else(|| {
        format!(
            "expected a number of days, {} to {LONGEST}: events must remain long enough to be looked at; omit the \
             option to keep them for ever",
            shortest.num_days()
        )
    })
}

fn days(text: &str, shortest: TimeDelta) -> Option<i64> {
    let possible = shortest.num_days()..=LONGEST;
    text.parse().ok().filter(|days| possible.contains(days))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        retention: RetentionOptions,
    }

    fn read(arguments: &[&str]) -> Result<RetentionPeriods, clap::Error> {
        let line = Line::try_parse_from(["keyward"].iter().chain(arguments))?;
        Ok(line.retention.periods().unwrap())
    }

    #[test]
    fn omitted_retention_options_use_the_domain_defaults() {
        assert_eq!(read(&[]).unwrap(), RetentionPeriods::default());
    }

    #[test]
    fn every_retention_option_sets_its_own_period() {
        let read = read(&[
            "--keep-revoked-keys=15",
            "--keep-ended-invitations=15",
            "--keep-expired-sessions=36500",
            "--keep-audit-events=30",
        ]);
        let read = read.unwrap();
        assert_eq!(read.dead_keys(), TimeDelta::days(15));
        assert_eq!(read.ended_invitations(), TimeDelta::days(15));
        assert_eq!(read.expired_sessions(), TimeDelta::days(36_500));
        assert_eq!(read.audit_events(), Some(TimeDelta::days(30)));
    }

    #[test]
    fn invalid_or_out_of_range_retention_days_are_rejected() {
        for (option, shortest) in [
            ("--keep-revoked-keys", 15),
            ("--keep-ended-invitations", 15),
            ("--keep-expired-sessions", 0),
            ("--keep-audit-events", 30),
        ] {
            let too_short = (shortest - 1).to_string();
            for value in [&too_short, "36501", "99999999999999999999", "", "1.5", "90d", "∞"] {
                let complaint = read(&[&format!("{option}={value}")]).unwrap_err().to_string();
                let range = format!("expected a number of days, {shortest} to 36500");
                assert!(complaint.contains(&range), "{option}={value}: {complaint}");
            }
        }
    }
}

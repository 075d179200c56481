//! The results of a scenario, as a line.

use std::fmt;
use std::time::Duration;

use keyward_tests::history::{Act, Moment, Outcome, Request, judged_after_revocation};

/// The results of one scenario.
pub(crate) struct Figures {
    verifications: Counts,
    revocations: Counts,
    /// How long the answered revocations took, in order, but for the first ones, for which servers open their
    /// connections to the database, and those on a server that was not there.
    answered: Vec<Duration>,
    /// How long the latter took at most: until the server was there again, and answered.
    longest_on_absent: Option<Duration>,
    /// How long the longest 503 took.
    pub(crate) longest_failure: Duration,
    /// For each server, the number of verifications that could have shown that a revoked key was accepted.
    pub(crate) judged: Vec<usize>,
    /// How long after the fault the last request failed.
    back_after: Duration,
}

#[derive(Default)]
struct Counts {
    ok: usize,
    refused: usize,
    failed: usize,
    unknown: usize,
}

impl Figures {
    pub(crate) fn of(
        requests: &[Request],
        servers: usize,
        warm: Moment,
        fault_end: Moment,
        is_absent: impl Fn(&Request) -> bool,
    ) -> Self {
        let revocations = of(requests, Act::Revoke);
        let answered = revocations
            .clone()
            .filter(|request| request.outcome == Outcome::Ok);
        let (on_absent, answered): (Vec<&Request>, Vec<_>) = answered.partition(|request| is_absent(request));
        let when_warm = answered.into_iter().filter(|request| request.begin >= warm);
        let mut answered: Vec<_> = when_warm.map(took).collect();
        answered.sort_unstable();
        let failed = requests.iter().filter(|request| is_failure(request));
        let last_failed = requests
            .iter()
            .filter(|request| !matches!(request.outcome, Outcome::Ok | Outcome::Refused))
            .map(|request| request.begin.saturating_sub(fault_end));
        Self {
            verifications: Counts::of(of(requests, Act::Verify)),
            revocations: Counts::of(revocations),
            answered,
            longest_on_absent: on_absent.into_iter().map(took).max(),
            longest_failure: failed.map(took).max().unwrap_or_default(),
            judged: (0..servers)
                .map(|server| judged_after_revocation(requests, server))
                .collect(),
            back_after: last_failed.max().unwrap_or_default(),
        }
    }

    /// How many revocations were answered once the servers were warm.
    pub(crate) fn answered(&self) -> usize {
        self.answered.len()
    }

    /// How long an answered revocation took, by the nearest rank; of few the longest.
    pub(crate) fn answered_within(&self, percent: usize) -> Duration {
        let rank = (self.answered.len() * percent).div_ceil(100).max(1);
        self.answered.get(rank - 1).copied().unwrap_or_default()
    }
}

impl Counts {
    fn of<'r>(requests: impl Iterator<Item = &'r Request>) -> Self {
        let mut counts = Self::default();
        for request in requests {
            *match request.outcome {
                Outcome::Ok => &mut counts.ok,
                Outcome::Refused => &mut counts.refused,
                Outcome::Failed { .. } | Outcome::Other(_) => &mut counts.failed,
                Outcome::Unknown => &mut counts.unknown,
            } += 1;
        }
        counts
    }
}

fn of(requests: &[Request], act: Act) -> impl Iterator<Item = &Request> + Clone {
    requests.iter().filter(move |request| request.act == act)
}

fn is_failure(request: &Request) -> bool {
    request.act == Act::Verify && matches!(request.outcome, Outcome::Failed { .. })
}

fn took(request: &Request) -> Duration {
    request.end.saturating_sub(request.begin)
}

impl fmt::Display for Figures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = |percent| self.answered_within(percent).as_millis();
        let judged: Vec<_> = self.judged.iter().map(ToString::to_string).collect();
        let on_absent = self.longest_on_absent.map(|took| {
            format!(
                "; revocations on the server that was away took up to {} ms",
                took.as_millis()
            )
        });
        write!(
            formatter,
            "{} verified ({} refused, {} judged), {}; {} revoked, once warm in p50 {}, p99 {}, max {} ms, {}; \
             503 after at most {} ms; well {:.1} s after{}",
            self.verifications.ok,
            self.verifications.refused,
            judged.join("+"),
            self.verifications.lost(),
            self.revocations.ok,
            milliseconds(50),
            milliseconds(99),
            milliseconds(100),
            self.revocations.lost(),
            self.longest_failure.as_millis(),
            self.back_after.as_secs_f64(),
            on_absent.unwrap_or_default(),
        )
    }
}

impl Counts {
    fn lost(&self) -> String {
        format!("{} × 503, {} without answer", self.failed, self.unknown)
    }
}

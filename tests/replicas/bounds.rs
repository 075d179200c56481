//! The bounds of a fault's effects on clients.

use std::path::Path;
use std::time::Duration;

use keyward_tests::history::{Act, Moment, Outcome, Request, Trouble, violations};

use crate::figures::Figures;
use crate::scenario::Scenario;
use crate::world::SERVERS;

/// How long a server may answer from memory without asking the database.
const LEASE: Duration = Duration::from_secs(5);

/// The maximum duration of a revocation during any fault: a lease, and the change itself. If the database
/// does not answer, `503` comes sooner.
const LONGEST_REVOCATION: Duration = Duration::from_secs(6);

/// The same, if one server gets no notifications of changes: two steps until it notices, and the time between
/// two polls.
const LONGEST_WITHOUT_NOTIFICATION: Duration = Duration::from_secs(4);

/// How soon a server must say that it has lost its database; it says so after 1.9 s.
const LONGEST_503: Duration = Duration::from_secs(2);

/// How soon all must be well after a fault.
pub(crate) const RECOVERY: Duration = Duration::from_secs(5);

/// The revocations that measure latency without a fault: 40 on each server.
pub(crate) const HEALTHY_REVOCATIONS: u32 = 120;
const HEALTHY_P99: Duration = Duration::from_millis(250);

/// The observations of clients during one fault.
pub(crate) struct Watched {
    pub(crate) requests: Vec<Request>,
    pub(crate) fault_begin: Moment,
    /// It began before this.
    pub(crate) fault_came: Moment,
    /// From then on, the failed part may be back.
    pub(crate) return_begin: Moment,
    /// From then on, the failed part is back.
    pub(crate) fault_end: Moment,
    /// The number of keys with requests to revoke them.
    pub(crate) revoked: usize,
    /// The keys about which servers disagreed in the end.
    pub(crate) disagreed: Vec<usize>,
}

impl Watched {
    pub(crate) fn figures(&self, scenario: Scenario) -> Figures {
        let is_absent = |request: &Request| self.met_fault(request, scenario.absent());
        Figures::of(
            &self.requests,
            SERVERS,
            self.fault_begin,
            self.fault_end,
            is_absent,
        )
    }

    /// Whether the request was to one of these servers while the fault lasted.
    fn met_fault(&self, request: &Request, servers: &[usize]) -> bool {
        servers.contains(&request.server) && request.begin < self.fault_end && request.end > self.fault_begin
    }

    /// Writes all requests to a file, for debugging.
    pub(crate) fn write(&self, file: &Path) {
        let moments =
            [self.fault_begin, self.return_begin, self.fault_end].map(|moment| moment.as_secs_f64());
        let mut lines = format!("# the fault began, began to end, and was over at {moments:.3?}\n");
        for request in &self.requests {
            let (begin, took) = (request.begin.as_secs_f64(), took(request).as_secs_f64());
            let (server, key, act, outcome) = (request.server, request.key, request.act, request.outcome);
            lines.push_str(&format!(
                "{begin:.4} {took:.4} {server} {key} {act:?} {outcome:?}\n"
            ));
        }
        std::fs::write(file, lines).expect("the history is written");
    }

    pub(crate) fn wrong(&self, scenario: Scenario) -> Vec<String> {
        let mut wrong = self.untrue(scenario);
        wrong.extend(self.late(scenario));
        for server in scenario.without_database() {
            wrong.extend(self.unsaid(*server));
        }
        let figures = self.figures(scenario);
        wrong.extend(self.unjudged(&figures));
        if scenario == Scenario::Healthy {
            wrong.extend(self.slow(&figures));
        }
        wrong
    }

    fn untrue(&self, scenario: Scenario) -> Vec<String> {
        let trouble = |act, servers| Trouble {
            servers,
            act,
            from: self.fault_begin,
            until: self.fault_end + RECOVERY,
        };
        let troubles = [
            trouble(Act::Verify, scenario.may_not_verify()),
            trouble(Act::Revoke, scenario.may_not_revoke()),
        ];
        let found = violations(&self.requests, &troubles);
        let disagreed = self
            .disagreed
            .iter()
            .map(|key| format!("servers disagree about key {key}"));
        found.iter().map(ToString::to_string).chain(disagreed).collect()
    }

    fn late(&self, scenario: Scenario) -> Vec<String> {
        let longest_revocation = match scenario {
            Scenario::NotificationsSilent => LONGEST_WITHOUT_NOTIFICATION,
            _ => LONGEST_REVOCATION,
        };
        // A server that does not run breaks connections. All others must answer.
        let late = self.requests.iter().filter(|request| {
            let is_late = match (request.act, request.outcome) {
                (_, Outcome::Unknown) => true,
                (Act::Revoke, _) => took(request) > longest_revocation,
                (Act::Verify, Outcome::Failed { .. }) => took(request) > LONGEST_503,
                (Act::Verify, Outcome::Ok | Outcome::Refused | Outcome::Other(_)) => false,
            };
            is_late && !self.met_fault(request, scenario.absent())
        });
        late.map(|request| format!("{request} was answered too late, or not"))
            .collect()
    }

    /// A server without a database may answer from memory for as long as a lease, and must then answer `503`.
    fn unsaid(&self, server: usize) -> Vec<String> {
        let without = self.requests.iter().filter(|request| {
            request.server == server
                && request.act == Act::Verify
                && request.begin >= self.fault_came + LEASE
                && request.end < self.return_begin
        });
        let remembered = without.clone().filter(|request| request.outcome == Outcome::Ok);
        let mut wrong: Vec<_> = remembered
            .map(|request| format!("{request} was accepted without a lease"))
            .collect();
        if !without
            .clone()
            .any(|request| matches!(request.outcome, Outcome::Failed { .. }))
        {
            wrong.push(format!("server {server} never said that it has no database"));
        }
        wrong
    }

    /// A run in which nothing could have been wrong shows nothing.
    fn unjudged(&self, figures: &Figures) -> Vec<String> {
        let judged = figures.judged.iter().enumerate();
        let too_few = judged.filter(|(_, judged)| **judged < self.revoked);
        too_few
            .map(|(server, judged)| {
                format!("only {judged} verifications on server {server} could show anything")
            })
            .collect()
    }

    fn slow(&self, figures: &Figures) -> Vec<String> {
        let mut wrong = Vec::new();
        if figures.answered() < HEALTHY_REVOCATIONS as usize {
            wrong.push(format!("only {} keys were revoked", figures.answered()));
        }
        let p99 = figures.answered_within(99);
        if p99 >= HEALTHY_P99 {
            wrong.push(format!("the 99th percentile of revocations is {p99:?}"));
        }
        wrong
    }
}

fn took(request: &Request) -> Duration {
    request.end.saturating_sub(request.begin)
}

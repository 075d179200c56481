//! Checks a history of requests to several servers: whether servers that never accept a revoked key could
//! have given these answers.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// A moment, as the time since the run began.
pub type Moment = Duration;

/// One request, from before it was sent until after its answer was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Which server was asked.
    pub server: usize,
    /// Which key it was about.
    pub key: usize,
    /// The kind of request.
    pub act: Act,
    /// Before it was sent.
    pub begin: Moment,
    /// When the answer was read, or the client stopped waiting.
    pub end: Moment,
    /// The answer, or its absence.
    pub outcome: Outcome,
}

/// A request to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Whether the key is valid.
    Verify,
    /// To revoke the key, by the owner of another key.
    Revoke,
}

/// The answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The key is valid (200), or it is revoked now (204).
    Ok,
    /// 401: the key is not accepted.
    Refused,
    /// 503: the outcome is unknown. A change may have happened.
    Failed {
        /// Whether it says when to ask again.
        says_when: bool,
    },
    /// No answer: the connection broke, or it took too long. A change may have happened.
    Unknown,
    /// Another status, which is an error.
    Other(u16),
}

/// While this lasts, requests to these servers may fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trouble<'s> {
    /// The servers, by their index.
    pub servers: &'s [usize],
    /// Which requests to them.
    pub act: Act,
    /// The moment at which it begins.
    pub from: Moment,
    /// The moment at which it is over.
    pub until: Moment,
}

/// An error in a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Violation {
    /// The key was accepted, though its revocation was answered at this moment, before the verification
    /// began.
    AcceptedAfterRevocation(Request, Moment),
    /// There was no request to revoke the key.
    ValidKeyRefused(Request),
    /// A request failed without a fault.
    FailedWithoutTrouble(Request),
    /// A 503 without `Retry-After`.
    FailedWithoutAdvice(Request),
    /// This status is never expected.
    UnexpectedStatus(Request),
}

/// All that is wrong with a history, in the order of the requests.
#[must_use]
pub fn violations(requests: &[Request], troubles: &[Trouble<'_>]) -> Vec<Violation> {
    let revocations = Revocations::of(requests);
    let judged = requests.iter().flat_map(|request| {
        [
            revocations.violation(request),
            failure(request, troubles),
            advice(request),
        ]
    });
    judged.flatten().collect()
}

/// How many verifications could have shown a revoked key accepted: those that began after its revocation was
/// answered, and were themselves answered.
#[must_use]
pub fn judged_after_revocation(requests: &[Request], server: usize) -> usize {
    let revocations = Revocations::of(requests);
    let is_judged = |request: &&Request| {
        request.server == server
            && request.act == Act::Verify
            && matches!(request.outcome, Outcome::Ok | Outcome::Refused)
            && revocations.answered_before(request).is_some()
    };
    requests.iter().filter(is_judged).count()
}

/// For each key, the first request to revoke it, and the first successful answer.
struct Revocations {
    first_asked: BTreeMap<usize, Moment>,
    first_answered: BTreeMap<usize, Moment>,
}

impl Revocations {
    fn of(requests: &[Request]) -> Self {
        let mut revocations = Self {
            first_asked: BTreeMap::new(),
            first_answered: BTreeMap::new(),
        };
        for request in requests.iter().filter(|request| request.act == Act::Revoke) {
            keep_earliest(&mut revocations.first_asked, request.key, request.begin);
            if request.outcome == Outcome::Ok {
                keep_earliest(&mut revocations.first_answered, request.key, request.end);
            }
        }
        revocations
    }

    /// When the revocation of its key was answered, if that was before it began.
    fn answered_before(&self, request: &Request) -> Option<Moment> {
        let answered = self.first_answered.get(&request.key).copied();
        answered.filter(|answered| *answered < request.begin)
    }

    fn violation(&self, request: &Request) -> Option<Violation> {
        match (request.act, request.outcome) {
            (Act::Verify, Outcome::Ok) => {
                let answered = self.answered_before(request)?;
                Some(Violation::AcceptedAfterRevocation(*request, answered))
            }
            (Act::Verify, Outcome::Refused) => {
                let asked = self.first_asked.get(&request.key);
                // A revocation may take effect before its answer, or without one.
                let may_be_revoked = asked.is_some_and(|asked| *asked < request.end);
                (!may_be_revoked).then_some(Violation::ValidKeyRefused(*request))
            }
            // The revoking key itself is never revoked.
            (Act::Revoke, Outcome::Refused) => Some(Violation::ValidKeyRefused(*request)),
            (_, Outcome::Other(_)) => Some(Violation::UnexpectedStatus(*request)),
            (Act::Revoke, Outcome::Ok) | (_, Outcome::Failed { .. } | Outcome::Unknown) => None,
        }
    }
}

fn keep_earliest(moments: &mut BTreeMap<usize, Moment>, key: usize, moment: Moment) {
    let earliest = moments.entry(key).or_insert(moment);
    *earliest = moment.min(*earliest);
}

fn failure(request: &Request, troubles: &[Trouble<'_>]) -> Option<Violation> {
    let failed = matches!(request.outcome, Outcome::Failed { .. } | Outcome::Unknown);
    let excused = troubles.iter().any(|trouble| {
        trouble.act == request.act
            && trouble.servers.contains(&request.server)
            && request.begin < trouble.until
            && request.end > trouble.from
    });
    (failed && !excused).then_some(Violation::FailedWithoutTrouble(*request))
}

fn advice(request: &Request) -> Option<Violation> {
    let without = request.outcome == Outcome::Failed { says_when: false };
    without.then_some(Violation::FailedWithoutAdvice(*request))
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AcceptedAfterRevocation(request, answered) => write!(
                formatter,
                "{request} was accepted, {} after its revocation was answered",
                Seconds(request.begin.saturating_sub(*answered))
            ),
            Self::ValidKeyRefused(request) => {
                write!(formatter, "{request} was refused, though the key is valid")
            }
            Self::FailedWithoutTrouble(request) => {
                write!(formatter, "{request} failed for no reason: {:?}", request.outcome)
            }
            Self::FailedWithoutAdvice(request) => write!(formatter, "{request}: 503 without Retry-After"),
            Self::UnexpectedStatus(request) => write!(formatter, "{request}: {:?}", request.outcome),
        }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let act = match self.act {
            Act::Verify => "verification",
            Act::Revoke => "revocation",
        };
        let (begin, took) = (Seconds(self.begin), Seconds(self.end.saturating_sub(self.begin)));
        let Self { key, server, .. } = self;
        write!(
            formatter,
            "{act} of key {key} on server {server} at {begin}, which took {took},"
        )
    }
}

struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:.3} s", self.0.as_secs_f64())
    }
}

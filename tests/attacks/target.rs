//! The target of an attack, as the attacker knows it, and the results.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::attack::Attack;
use crate::wire::request;

/// The server under attack, and the stolen credentials.
pub(crate) struct Target {
    pub(crate) server: SocketAddr,
    /// A key of the holder.
    pub(crate) stolen: StolenKey,
    /// The youngest of a chain of keys that the attacker makes, first another stolen one.
    pub(crate) youngest: Mutex<StolenKey>,
    /// Revoked keys below the stolen one, from long before.
    pub(crate) dead: Vec<String>,
    /// The usernames whose passwords are guessed.
    pub(crate) usernames: Vec<String>,
    pub(crate) tally: Tally,
}

/// A key in the wrong hands.
#[derive(Clone)]
pub(crate) struct StolenKey {
    pub(crate) id: String,
    pub(crate) token: String,
}

impl Target {
    /// The youngest key of the attacker's chain.
    pub(crate) fn youngest(&self) -> StolenKey {
        let youngest = self.youngest.lock();
        youngest.unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// A request to the API below `/api/v1/user` with a token.
    pub(crate) fn api(&self, token: &str, method: &str, path: &str, body: &str) -> String {
        let headers = format!("Authorization: Bearer {token}\r\nContent-Type: application/json\r\n");
        request(
            self.server,
            method,
            &format!("/api/v1/user{path}"),
            &headers,
            body,
        )
    }
}

/// The counts of statuses and other results of the attackers.
#[derive(Default)]
pub(crate) struct Tally {
    answers: Mutex<BTreeMap<u16, u64>>,
    broken: AtomicU64,
    held: AtomicU64,
}

impl Tally {
    pub(crate) fn answered(&self, status: u16) {
        let mut answers = self
            .answers
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        *answers.entry(status).or_default() += 1;
    }

    /// A connection was refused or broke.
    pub(crate) fn broke(&self, _: io::Error) {
        self.broken.fetch_add(1, Ordering::Relaxed);
    }

    /// A connection was opened to be held.
    pub(crate) fn held(&self) {
        self.held.fetch_add(1, Ordering::Relaxed);
    }

    /// Signs that the attack did not work as intended.
    pub(crate) fn shortcomings(&self, attack: Attack) -> Vec<String> {
        let answers = self
            .answers
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let missing = attack
            .expected_answers()
            .iter()
            .filter(|status| !answers.contains_key(status));
        let mut found: Vec<_> = missing
            .map(|status| format!("no attacker was answered {status}"))
            .collect();
        if attack.holds_connections() && self.held.load(Ordering::Relaxed) == 0 {
            found.push("the attackers held no connection".to_owned());
        }
        found
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answers = self
            .answers
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let answers: Vec<_> = answers
            .iter()
            .map(|(status, count)| format!("{count} × {status}"))
            .collect();
        write!(
            formatter,
            "answers: {}; connections held {}, broken {}",
            if answers.is_empty() {
                "none".to_owned()
            } else {
                answers.join(", ")
            },
            self.held.load(Ordering::Relaxed),
            self.broken.load(Ordering::Relaxed),
        )
    }
}

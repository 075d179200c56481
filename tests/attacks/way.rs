//! The ways of revoking during an attack, each repeated at a steady rate.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::person::{Answered, Person, TIMEOUT};
use crate::target::StolenKey;
use keyward_tests::keyward::{Keyward, keyward};

/// A way of revoking: whose key, and by which interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    // A member of another organization.
    OthersApi,
    OthersConsole,
    OthersCommandLine,
    OthersSignIn,
    // Whose keys were stolen.
    HoldersApi,
    HoldersConsole,
    // The owner of the holder's organization.
    OwnersConsole,
    /// The end of the attack: the stolen keys with all that came of them, through the API.
    StolenKeys,
}

impl Way {
    /// The ways that are repeated during the whole attack.
    pub(crate) const STEADY: [Self; 7] = [
        Self::OthersApi,
        Self::OthersConsole,
        Self::OthersCommandLine,
        Self::OthersSignIn,
        Self::HoldersApi,
        Self::HoldersConsole,
        Self::OwnersConsole,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::OthersApi => "somebody else, API",
            Self::OthersConsole => "somebody else, console",
            Self::OthersCommandLine => "somebody else, command line",
            Self::OthersSignIn => "somebody else, sign-in",
            Self::HoldersApi => "holder, API",
            Self::HoldersConsole => "holder, console",
            Self::OwnersConsole => "owner, console",
            Self::StolenKeys => "holder, stolen keys with descendants",
        }
    }

    pub(crate) const fn period(self) -> Duration {
        Duration::from_millis(match self {
            Self::OthersApi => 100,
            Self::HoldersApi => 200,
            Self::OthersConsole | Self::HoldersConsole | Self::OwnersConsole => 400,
            Self::OthersCommandLine => 600,
            // As often as one person may, for a minute.
            Self::OthersSignIn | Self::StolenKeys => 1_200,
        })
    }

    /// The maximum 99th percentile of the duration of answers. A sign-in waits for a password to be hashed,
    /// which attackers make the server do, too.
    pub(crate) const fn bound(self) -> Duration {
        Duration::from_secs(match self {
            Self::OthersSignIn => 3,
            _ => 1,
        })
    }

    /// The maximum number of keys that the holder or another user has revoked in this time.
    pub(crate) fn keys_in(time: Duration) -> usize {
        let times = Self::STEADY.map(|way| time.as_millis().div_ceil(way.period().as_millis()) as usize + 1);
        times.iter().sum()
    }
}

/// All revokers.
pub(crate) struct Revokers {
    pub(crate) bob: Person,
    /// His other browser, in which he signs in anew each time: that ends its session before.
    pub(crate) bob_elsewhere: Person,
    pub(crate) grace: Person,
    pub(crate) ada: Person,
    /// Where the command line finds the database.
    pub(crate) keyward: Arc<Keyward>,
    pub(crate) bobs_keys: Stock,
    pub(crate) graces_keys: Stock,
    pub(crate) stolen: [StolenKey; 2],
}

/// Keys to revoke, each once.
pub(crate) struct Stock {
    ids: Vec<String>,
    next: AtomicUsize,
}

impl Stock {
    pub(crate) fn of(ids: &[String]) -> Self {
        Self {
            ids: ids.to_vec(),
            next: AtomicUsize::new(0),
        }
    }

    fn take(&self) -> &str {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        &self.ids[number]
    }
}

impl Revokers {
    /// Goes one way once; also says which key is revoked now.
    pub(crate) async fn go(&self, way: Way) -> (Option<String>, Answered) {
        let key = match way {
            Way::OthersSignIn | Way::StolenKeys => None,
            Way::OthersApi | Way::OthersConsole | Way::OthersCommandLine => Some(self.bobs_keys.take()),
            Way::HoldersApi | Way::HoldersConsole | Way::OwnersConsole => Some(self.graces_keys.take()),
        };
        let id = key.unwrap_or_default();
        let answered = match way {
            Way::OthersApi => self.bob.delete(id, "").await,
            Way::OthersConsole => self.bob.revoke_own("bridges", id).await,
            Way::OthersCommandLine => self.command_line(id).await,
            Way::OthersSignIn => self.bob_elsewhere.sign_in().await,
            Way::StolenKeys => self.end_attack().await,
            Way::HoldersApi => self.grace.delete(id, "").await,
            Way::HoldersConsole => self.grace.revoke_own("engines", id).await,
            Way::OwnersConsole => self.ada.revoke_of_member("engines", id).await,
        };
        (key.map(ToOwned::to_owned), answered)
    }

    /// The holder of the key that was revoked this way.
    pub(crate) fn holder(&self, way: Way) -> &Person {
        match way {
            Way::OthersApi | Way::OthersConsole | Way::OthersCommandLine | Way::OthersSignIn => &self.bob,
            Way::HoldersApi | Way::HoldersConsole | Way::OwnersConsole | Way::StolenKeys => &self.grace,
        }
    }

    async fn end_attack(&self) -> Answered {
        let mut slower = Duration::ZERO;
        for stolen in &self.stolen {
            slower = slower.max(self.grace.delete(&stolen.id, "?descendants=revoke").await?);
        }
        Ok(slower)
    }

    async fn command_line(&self, id: &str) -> Answered {
        let begin = Instant::now();
        let revoke = [
            "admin",
            "revoke",
            "--organization",
            "bridges",
            "--reason",
            "attack",
        ];
        let mut command = keyward(self.keyward.storage());
        command.args(revoke).args(["--key", id]);
        command.stdin(Stdio::null()).kill_on_drop(true);
        let output = match tokio::time::timeout(TIMEOUT, command.output()).await {
            Ok(output) => output.map_err(|error| error.to_string())?,
            Err(_) => return Err(format!("not done within {} s", TIMEOUT.as_secs())),
        };
        let said =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        if output.status.success() && said.contains("Revoked 1 key") {
            Ok(begin.elapsed())
        } else {
            Err(format!("{}: {said}", output.status))
        }
    }
}

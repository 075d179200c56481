//! The share of a store that a change has: of its reserved disk space, and of its turns.

use crate::client::Client;

/// How much of the disk space that SQLite's store reserves a change may use, and with whom it shares its turn among those
/// that wait. PostgreSQL's disk belongs to its server, so nothing is reserved there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Nothing: the change is refused until the disk has room again.
    Nothing,
    /// As much as signing in, in the turn of all strangers. Each may have an address of their own.
    StrangersSigningIn,
    /// At most one half. People must sign in before they can revoke in the console; but strangers cause
    /// sign-in attempts too, and these must not use up the space for revocations.
    SigningIn,
    /// All of the reserve.
    Revoking,
}

impl Claim {
    /// The client in whose turn a change is made.
    pub(crate) fn client(self) -> Client {
        match self {
            Self::StrangersSigningIn => Client::Strangers,
            Self::Nothing | Self::SigningIn | Self::Revoking => Client::current(),
        }
    }
}

//! How much of the reserved disk space a change may use.

/// How much of the disk space that SQLite's store reserves a change may use. PostgreSQL's disk belongs to its
/// server, so nothing is reserved there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Nothing: the change is refused until the disk has room again.
    Nothing,
    /// At most one half. People must sign in before they can revoke in the console; but strangers cause
    /// sign-in attempts too, and these must not use up the space for revocations.
    SigningIn,
    /// All of it.
    Revoking,
}

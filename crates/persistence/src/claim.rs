//! What is kept for changes that take access away.

/// What a change may take of the room on the disk that SQLite's store reserves. Where the disk is the server's, as with
/// PostgreSQL, there is none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Nothing: it waits until there is room.
    Nothing,
    /// At most one half. To revoke in the console, people must sign in first; but strangers make attempts to sign in too,
    /// and must leave something for revocations.
    SigningIn,
    /// All of it.
    Revoking,
}

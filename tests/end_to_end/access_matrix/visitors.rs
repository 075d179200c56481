//! The kinds of visitors.

/// A kind of client. The API identifies it by its key, the console by its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Visitor {
    Anonymous,
    Member,
    Owner,
    /// The owner of another organization.
    Stranger,
    FormerMember,
    /// Sends the owner's key where a session belongs.
    KeyInsteadOfSession,
    /// Sends the owner's session where a key belongs.
    SessionInsteadOfKey,
    /// A service that may introspect tokens.
    Verifier,
}

/// In the order of the table's columns.
pub(super) const VISITORS: [Visitor; 8] = [
    Visitor::Anonymous,
    Visitor::Member,
    Visitor::Owner,
    Visitor::Stranger,
    Visitor::FormerMember,
    Visitor::KeyInsteadOfSession,
    Visitor::SessionInsteadOfKey,
    Visitor::Verifier,
];

impl Visitor {
    /// The username with which it would join.
    pub(super) const fn username(self) -> &'static str {
        match self {
            // The owner's key or session.
            Self::Owner | Self::KeyInsteadOfSession | Self::SessionInsteadOfKey => "ada",
            Self::Member => "grace",
            Self::Stranger => "eve",
            Self::FormerMember => "mary",
            Self::Anonymous => "nobody",
            Self::Verifier => "service",
        }
    }
}

//! The kinds of visitors.

/// Who asks. The API knows them by their keys, the console by their sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Visitor {
    Nobody,
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
    Visitor::Nobody,
    Visitor::Member,
    Visitor::Owner,
    Visitor::Stranger,
    Visitor::FormerMember,
    Visitor::KeyInsteadOfSession,
    Visitor::SessionInsteadOfKey,
    Visitor::Verifier,
];

impl Visitor {
    /// The name under which they would join.
    pub(super) const fn username(self) -> &'static str {
        match self {
            // Whose key or session it is.
            Self::Owner | Self::KeyInsteadOfSession | Self::SessionInsteadOfKey => "ada",
            Self::Member => "grace",
            Self::Stranger => "eve",
            Self::FormerMember => "mary",
            Self::Nobody => "nobody",
            Self::Verifier => "service",
        }
    }
}

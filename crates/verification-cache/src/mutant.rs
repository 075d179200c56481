//! The ways in which the protocol is broken on purpose, to show that the exploration notices.

/// A step of the protocol that is left out or done wrongly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Mutant {
    /// The result of a query is remembered as if it had been read when it arrived.
    FillGuardMissing,
    /// The result of a query is remembered although the query began without a lease.
    FillWithoutLease,
    /// The lease is checked first, and the generation is read afterwards.
    LeaseCheckedFirst,
    /// An entry is answered however old it is.
    AgeIgnored,
    /// A lease never ends.
    LeaseCheckMissing,
    /// A revocation is answered by a reading that began before it.
    EarlierReadingTaken,
    /// The revocation is answered at once.
    AcknowledgementNotAwaited,
    /// The change is acknowledged first, and evicted when that is confirmed.
    AcknowledgedBeforeEvicted,
    /// The lease counts from the answer to the poll.
    LeaseCountsFromAnswer,
    /// A poll renews the lease although the acknowledgement failed.
    LeaseWithoutAcknowledgement,
    /// A replica that was struck off keeps answering from its cache.
    StrikingOffIgnored,
    /// Changes that are missing in the log are taken as none.
    GapInLogIgnored,
    /// The replica's row in the database is not compared with its last acknowledgement.
    RestoredRowIgnored,
    /// The revocation waits for less than the lease.
    WaitShorterThanLease,
    /// A replica is struck off because of a change that was committed less than a lease ago.
    StruckOffTooEarly,
    /// A revocation that finds the key revoked is answered at once.
    RepetitionNotAwaited,
}

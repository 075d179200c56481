use keyward_domain::audit::Action;

use super::Column;

/// What is wrong with the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    FindsAnyConsumersKey,
    ListsOldLeaks,
    /// Owners are shown the keys that leaked last, whoever's they are.
    LetsLeaksOfOneMemberHideOthers,
    RevokesAnyConsumersKey,
    ForgetsEventsOf(Action),
    TellsOfEditsThatChangeNothing,
    CountsKeysBeforeTheTransaction,
    ChecksTheLimitFirst,
    CountsNoEdits,
    CountsNoRotations,
    /// A key that acts rotates any other key, and gives itself any life.
    LetsEveryKeyRotate,
    /// A successor may manage keys, whether the key before it may or not.
    LetsSuccessorsManageKeys,
    /// A key that has had a successor gets no other, whatever became of that one.
    RotatesEachKeyOnce,
    /// Whether the successor of a rotated key is valid is read in a transaction of its own.
    ReadsSuccessorsBeforeTheTransaction,
    /// The end of a key that has had a successor is not postponed, whatever became of that one.
    KeepsEndsOfRotatedKeys,
    /// A rotated key ends with the use of a successor that has ended.
    EndsKeysForEndedSuccessors,
    /// A key may be created, edited and rotated to live longer than its organization's owners allow.
    IgnoresTheLongestLife,
    /// The chain of keys that a rotation or a creation lengthens may have any length.
    AddsToLongestChains,
    /// A rotated key and its successor are two keys of their chain.
    CountsRotatedKeysInChains,
    /// A request that is sent again creates a second key.
    ForgetsIdempotencyKeysOfKeys,
    /// Whatever is asked for with an idempotency key that was used before is the same request.
    TakesOtherRequestsForRepeated,
    ReadsTheRateBeforeTheTransaction,
    WritesBackTheWholeKey,
    /// A key that acts postpones its own end.
    LetsKeysExtendThemselves,
    /// What has ended is judged by the moment at which an act began.
    JudgesByTheBeginningOfTheAct,
    /// A list shows keys whatever their planned end.
    IgnoresPlannedEndsInLists,
    LetsRevokedKeysAct,
    LetsEveryKeyManageKeys,
    /// A key that acts is checked in a transaction of its own.
    ChecksWhoAddsBeforeTheTransaction,
    ChecksWhoEditsBeforeTheTransaction,
    ChecksWhoRotatesBeforeTheTransaction,
    ChecksWhoRevokesBeforeTheTransaction,
    /// Whether somebody who acts in person is a member is checked in a transaction of its own.
    ChecksMembersWhoAddBeforeTheTransaction,
    ChecksMembersWhoEditBeforeTheTransaction,
    ChecksMembersWhoRotateBeforeTheTransaction,
    /// An owner who acts is checked in a transaction of its own.
    ChecksOwnersWhoRevokeBeforeTheTransaction,
    ChecksOwnersWhoAddProjectsBeforeTheTransaction,
    /// A form sent twice creates two projects.
    ForgetsIdempotencyKeysOfProjects,
    LooksForDescendantsBeforeTheTransaction,
    /// A key alone is to be revoked; what its children made goes, too.
    RevokesGrandchildrenUnasked,
    OwnersRevokeGrandchildrenUnasked,
    /// A key is to be revoked with its descendants; only children and grandchildren go.
    KeepsGreatGrandchildren,
    OwnersKeepGreatGrandchildren,
    /// Whoever has copied the cookie of a session stays signed in when its user changes their
    /// password there.
    KeepsSessionTokens,
    /// Whoever selects all keys from before a moment selects nothing that was made with them since.
    OwnersKeepDescendantsOfEarlierKeys,
    TakesPercentSignsForWildcards,
    /// Whoever looks for a hint finds what holds its last four characters, too.
    TakesHintsForTheirLastFour,
    /// Whoever looks for a name finds longer names, too.
    TakesNamesForTerms,
    /// Whoever's username begins with the one that is asked for is found, too.
    TakesTheBeginningOfUsernames,
    TakesEveryVersion,
    ComparesVersionsBeforeTheTransaction,
    RemembersCredentials,
    /// Whoever knows a project's identifier reaches it.
    ReachesEveryProject,
    /// Two digests that begin with so many equal bytes are one.
    ComparesDigestsByTheirFirst(usize, Secret),
    ReadsTheThrottleBeforeTheTransaction,
    TakesFromTheBucketsBeforeAFullOne,
    /// More than a hundred items are asked for, a hundred are shown, and nothing says that there are more.
    CutsPagesAt100(List),
    /// The same, but only where the list has a filter.
    CutsFilteredPagesAt100(List),
    /// Every page is the first.
    NeverLeadsOn(List),
    /// The feed begins anew after a position that it does not know.
    TakesUnknownPositions,
    FindsPositionsByTheirNumbers,
    FeedsTheInstallationsLogOnly,
    SkipsTheEventAfterAPosition,
    ForgetsWhichNumbersWereRemoved,
    /// The feed shows an event although one with a lower number is not committed yet.
    FeedsAheadOfLowerNumbers,
    /// An edit of a name writes no event if it moves the planned end, too.
    HidesEditsThatMoveAPlannedEnd,
    /// A planned end never comes, whatever moment the port of this list is asked about.
    NeverSeesPlannedEndsCome(List),
    /// A planned end has come already.
    TakesPlannedEndsForCome(List),
    AcceptsKeysBeyondTheirPlannedEnd,
    RefusesKeysBeforeTheirPlannedEnd,
    /// Whoever revokes a key whose planned end has come is answered without anything being recorded.
    LeavesDueEndsOfRevokedKeys,
    OwnersLeaveDueEndsOfRevokedKeys,
    /// A revocation says that it is done while more of the selected keys' ends are due than one batch
    /// records.
    StopsRevokingBeforeDueEnds,
    LeavesDueEndsOfRemovedMembers,
    /// The end of a membership is recorded, and the invitations that the member has open stay.
    KeepsInvitationsAtRecordedEnds,
    KeepsInvitationsAtReturn,
    /// Invitations are created when the clock says so, whatever end of a membership precedes them.
    CreatesInvitationsByTheClockAlone,
    KeepsAcceptedInvitations,
    IgnoresTheLimitOfInvitations,
    /// Expired invitations count for the limit of open ones.
    CountsExpiredInvitations,
    /// As many ends are recorded as are due.
    RecordsEndsWithoutLimit,
    /// Ends of memberships are not recorded.
    RecordsEndsOfKeysOnly,
    /// An owner counts as one whatever end is planned.
    CountsOwnersWithPlannedEnds,
    /// A successor comes below its creator once the key that rotated another one to it is removed.
    ForgetsRemovedAdopters,
    /// Of ended keys, one fewer is kept than are to be kept.
    TakesTheLastKeptKeyForSurplus,
    /// Surplus keys are removed whenever they were created and ended.
    RemovesSurplusKeysBeforeTheirTime,
    /// A key whose planned end has come counts as ended although that is not recorded.
    TakesDueKeysForSurplus,
    /// Everybody's surplus keys are removed with one member's.
    RemovesSurplusKeysOfOtherMembers,
    /// One batch of surplus keys is all of them.
    RemovesSurplusKeysWithoutLimit,
    /// Whichever member was found last, the first one is found again.
    SearchesForSurplusKeysFromTheFirstMember,
    /// A longest life is applied whatever the organization has chosen.
    AppliesAnyLongestLife,
    /// Every batch of an applied longest life begins at the first key.
    AppliesLivesFromTheFirstKey,
    /// One batch of applying a longest life is all keys.
    ShortensLivesWithoutLimit,
    /// The keys that a longest life shortens are shown by name.
    ShowsShortenedKeysByName,
    /// A list shows keys whether or not a longest life shortens them.
    IgnoresLongestLivesInLists,
    /// One column is not read as it was written.
    Misreads(Column),
    /// Owners do not read one column of a key as it was written; its holder does.
    MisreadsForOwners(Column),
}

/// A list that comes page by page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    Keys,
    OrganizationKeys,
    Events,
    Members,
    Projects,
    ProjectMembers,
    Invitations,
    ReachableProjects,
    Feed,
}

/// What is stored as a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Secret {
    Token,
    Session,
    Invitation,
    SetupLink,
}

use keyward_domain::audit::Action;

use super::Column;

/// A rule of the ports that the store breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    FindsAnyConsumersKey,
    ListsOldLeaks,
    /// Owners are shown the keys that leaked last, whoever's they are.
    LetsLeaksOfOneMemberHideOthers,
    RevokesAnyConsumersKey,
    OmitsEventsOf(Action),
    WritesEventsOfIneffectiveEdits,
    CountsKeysBeforeTransaction,
    ChecksKeyLimitFirst,
    IgnoresRateLimitOfEdits,
    IgnoresRateLimitOfRotations,
    /// An acting key may rotate any other key, and give itself any end.
    LetsEveryKeyRotate,
    /// A successor may manage keys even if the rotated key may not.
    LetsSuccessorsManageKeys,
    /// A rotated key cannot be rotated again, even after its successor has ended.
    RotatesEachKeyOnce,
    /// Reads in an earlier transaction whether the successor of a rotated key is valid.
    ReadsSuccessorsBeforeTransaction,
    /// Refuses a new end of a rotated key, even after its successor has ended.
    RefusesNewEndsOfRotatedKeys,
    /// A rotated key ends when its successor was used, even if the successor has ended.
    EndsKeysForEndedSuccessors,
    /// Keys may be created, edited and rotated to live longer than the organization's maximum lifetime.
    IgnoresLongestLife,
    /// Creations and rotations may extend a chain of keys beyond its maximum length.
    IgnoresMaxTreeDepth,
    /// A rotated key and its successor count as two keys of their chain.
    CountsRotatedKeysInChains,
    /// A repeated request creates a second key.
    IgnoresIdempotencyKeysOfKeys,
    /// A different request with a used idempotency key counts as a repeated one.
    IgnoresRequestDigests,
    ReadsRateLimitBeforeTransaction,
    LosesConcurrentEdits,
    /// A key can postpone its own end.
    LetsKeysExtendThemselves,
    /// Compares ends with the time at which the act began, not with the time at which it has its lock.
    UsesStartTimeOfAct,
    /// Ignores the filter of lists for planned ends.
    IgnoresPlannedEndFilter,
    LetsRevokedKeysAct,
    LetsEveryKeyManageKeys,
    /// Checks the acting key in an earlier transaction.
    ChecksAddingKeyBeforeTransaction,
    ChecksEditingKeyBeforeTransaction,
    ChecksRotatingKeyBeforeTransaction,
    ChecksRevokingKeyBeforeTransaction,
    /// Checks the membership of a user who acts in an earlier transaction.
    ChecksAddingMemberBeforeTransaction,
    ChecksEditingMemberBeforeTransaction,
    ChecksRotatingMemberBeforeTransaction,
    /// Checks the acting owner in an earlier transaction.
    ChecksRevokingOwnerBeforeTransaction,
    ChecksProjectOwnerBeforeTransaction,
    /// A form that is submitted twice creates two projects.
    IgnoresIdempotencyKeysOfProjects,
    FindsDescendantsBeforeTransaction,
    /// Revoking a key without its descendants also revokes its grandchildren.
    RevokesUnselectedGrandchildren,
    OwnersRevokeUnselectedGrandchildren,
    /// Revoking a key with its descendants revokes only children and grandchildren.
    KeepsGreatGrandchildren,
    OwnersKeepGreatGrandchildren,
    /// Changing the password keeps the token of the session that changes it.
    KeepsSessionTokenOfPasswordChange,
    /// Owners who revoke all keys created before a given time keep those created with them since.
    OwnersKeepDescendantsOfSelectedKeys,
    TreatsPercentSignsAsWildcards,
    /// A search for a hint finds all keys that contain its last four characters.
    FindsHintsByLastFourCharacters,
    /// A lookup of an exact name also finds longer names.
    FindsNamesBySubstring,
    /// A lookup of a username also finds usernames that begin with it.
    FindsUsernamesByPrefix,
    IgnoresPreconditions,
    ComparesVersionsBeforeTransaction,
    CachesCredentials,
    /// Every key reaches every project.
    ReachesEveryProject,
    /// Digests are equal if this many first bytes are.
    ComparesDigestPrefixes(usize, Secret),
    ReadsThrottleBeforeTransaction,
    CountsRefusedAttempts,
    /// If more than 100 items are requested, returns 100 and no cursor.
    TruncatesPagesAt100(List),
    /// The same, but only with a filter.
    TruncatesFilteredPagesAt100(List),
    /// Every page is the first one.
    IgnoresCursor(List),
    /// The feed starts from the beginning after an unknown position.
    AcceptsUnknownPositions,
    FindsPositionsByNumberOnly,
    FeedsInstallationLogOnly,
    SkipsEventAfterPosition,
    ReportsNoRemovedNumbers,
    /// The feed shows an event before one with a lower number is committed.
    FeedsBeforeLowerNumbersCommit,
    /// An edit writes no event of its other changes if it also changes the planned end.
    OmitsEditEventIfEndChanges,
    /// In this list, planned ends are always in the future.
    TreatsPlannedEndsAsFuture(List),
    /// In this list, planned ends are always past.
    TreatsPlannedEndsAsPast(List),
    AcceptsKeysBeyondTheirPlannedEnd,
    RefusesKeysBeforeTheirPlannedEnd,
    /// Revoking a key whose planned end has come does not record that end.
    LeavesDueEndsOfRevokedKeys,
    OwnersLeaveDueEndsOfRevokedKeys,
    /// A revocation reports its last batch while ends of selected keys are due and not recorded.
    StopsRevokingBeforeDueEnds,
    LeavesDueEndsOfRemovedMembers,
    /// Recording the planned end of a membership does not revoke the member's open invitations.
    KeepsInvitationsAtRecordedEnds,
    KeepsInvitationsAtReturn,
    /// Invitations get the clock's time, even if it is before the recorded end of a membership.
    TimesInvitationsByClockAlone,
    KeepsAcceptedInvitations,
    IgnoresInvitationLimit,
    /// Expired invitations count towards the limit of open ones.
    CountsExpiredInvitations,
    /// Records more ends than the batch size.
    RecordsEndsWithoutLimit,
    /// Does not record ends of memberships.
    RecordsEndsOfKeysOnly,
    /// An owner with a planned end counts as a permanent one.
    CountsOwnersWithPlannedEnds,
    /// A successor moves below its creator when its adoptive parent is removed.
    DropsRemovedAdoptiveParents,
    KeepsOneEndedKeyTooFew,
    /// Removes surplus keys that were created or ended too recently.
    RemovesSurplusKeysTooEarly,
    /// A key whose planned end has come counts as ended before that is recorded.
    TreatsDueKeysAsEnded,
    /// Removing the surplus keys of one member also removes those of all others.
    RemovesSurplusKeysOfOtherMembers,
    /// Removes more surplus keys than the batch size.
    RemovesSurplusKeysWithoutLimit,
    /// The search for members with surplus keys always finds the first one.
    RepeatsFirstMemberWithSurplusKeys,
    /// Applies a maximum lifetime that the organization no longer has.
    AppliesChangedLongestLife,
    /// Every batch of applying a maximum lifetime begins at the first key.
    RestartsLongestLifeAtFirstKey,
    /// Shortens more keys than the batch size.
    ShortensKeysWithoutLimit,
    /// The preview of a maximum lifetime sorts keys by name.
    SortsShortenedKeysByName,
    /// Ignores the filter of lists for keys that a maximum lifetime would shorten.
    IgnoresLongestLifeFilter,
    /// Reads another value of this column than was written.
    Misreads(Column),
    /// Owners, but not the holder, read another value of this column of a key than was written.
    MisreadsForOwners(Column),
}

/// The paginated lists.
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

/// The secrets that are stored as digests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Secret {
    Token,
    Session,
    Invitation,
    SetupLink,
}

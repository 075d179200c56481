//! Walks through all interleavings of verifications, revocations, polls, acknowledgements, the end of leases,
//! pauses, clocks that are set, restarts and restored backups, within bounds, and looks at each verification
//! that begins after the answer to the revocation of its key. The same for what is remembered of the projects
//! that consumers reach, and the answers to their removal and addition.
//!
//! It runs the code that servers run; [`world`] replaces databases, networks and clocks by models of what can
//! happen to them. Time passes only in a step of its own, by any amount, so a process that does nothing
//! meanwhile models one that is stopped.

mod database;
mod explored_change;
mod machine;
mod revoker;
mod walk;
mod watch;
mod world;

use crate::mutant::Mutant;
use explored_change::ExploredChange;
use walk::{Finding, walk};
use world::{Bounds, LeaseClock};

/// One replica, and a key that is revoked.
const ONE_KEY: Bounds = Bounds {
    change: ExploredChange::Key,
    replicas: 1,
    pausing: 1,
    revocations: 1,
    repetitions: 0,
    losses: 0,
    restarts: 0,
    steps: 0,
    sleeps: 0,
    misled: 0,
    restores: 0,
    has_watch: false,
    clock: LeaseClock::Boot,
};

/// Two keys, and both are revoked.
const TWO_KEYS: Bounds = Bounds {
    revocations: 2,
    ..ONE_KEY
};

/// Messages are lost, and the replica starts again.
const LOSSES: Bounds = Bounds {
    losses: 2,
    restarts: 1,
    ..ONE_KEY
};

/// Two replicas, of which the second takes all steps before its query at once.
const TWO_REPLICAS: Bounds = Bounds {
    replicas: 2,
    ..ONE_KEY
};

/// The revocation is repeated, also while the first one waits.
const REPEATED: Bounds = Bounds {
    repetitions: 1,
    losses: 1,
    ..ONE_KEY
};

/// The machine sleeps, and its time of day is set back.
const CLOCKS: Bounds = Bounds {
    steps: 1,
    sleeps: 3,
    ..ONE_KEY
};

/// The database is restored from a backup, and keys are revoked before and after.
const RESTORED: Bounds = Bounds {
    pausing: 0,
    restores: 1,
    ..TWO_KEYS
};

/// Two keys, both are revoked, and one reader reads the replicas for both revocations.
const WATCHED: Bounds = Bounds {
    pausing: 0,
    has_watch: true,
    ..TWO_KEYS
};

/// A former primary answers a query.
const MISLED: Bounds = Bounds { misled: 1, ..ONE_KEY };

/// A consumer is removed from its only project.
const REMOVED: Bounds = Bounds {
    change: ExploredChange::Removal,
    ..LOSSES
};

/// A consumer is added to its first project.
const ADDED: Bounds = Bounds {
    change: ExploredChange::Addition,
    ..REMOVED
};

/// The only project of a consumer is archived, which concerns its organization.
const ARCHIVED: Bounds = Bounds {
    change: ExploredChange::Archival,
    ..REMOVED
};

/// The only project of a consumer is restored, likewise.
const UNARCHIVED: Bounds = Bounds {
    change: ExploredChange::Restoration,
    ..REMOVED
};

/// A former primary answers a query for what a consumer reaches.
const MISLED_REACH: Bounds = Bounds {
    change: ExploredChange::Removal,
    ..MISLED
};

fn assert_safe(bounds: Bounds) {
    match walk(bounds, None) {
        Finding::Safe { states, late } => {
            assert!(
                late > 100,
                "{late} verifications began after an answer, in {states} states"
            );
        }
        Finding::Accepted(steps) => panic!("accepted after the answer to its revocation: {steps:#?}"),
    }
}

fn assert_found(mutant: Mutant, bounds: Bounds) {
    if let Finding::Safe { states, .. } = walk(bounds, Some(mutant)) {
        panic!("{mutant:?} was not found in {states} states");
    }
}

#[test]
fn revoked_keys_are_refused_by_one_replica() {
    assert_safe(TWO_KEYS);
}

#[test]
fn revoked_key_is_refused_despite_lost_messages_and_restarts() {
    assert_safe(LOSSES);
}

#[test]
fn revoked_key_is_refused_by_both_replicas() {
    assert_safe(TWO_REPLICAS);
}

#[test]
fn revoked_key_is_refused_after_a_repeated_revocation() {
    assert_safe(REPEATED);
}

#[test]
fn revoked_key_is_refused_after_sleep_and_clock_steps() {
    assert_safe(CLOCKS);
}

#[test]
fn revoked_keys_are_refused_after_a_restored_backup() {
    assert_safe(RESTORED);
}

#[test]
fn key_accepted_by_a_former_primary_ages_out() {
    assert_safe(MISLED);
    assert_safe(MISLED_REACH);
}

#[test]
fn revoked_keys_are_refused_when_revocations_share_a_reader() {
    assert_safe(WATCHED);
}

#[test]
fn project_is_not_reached_after_the_answer_to_a_removal() {
    assert_safe(REMOVED);
    assert_safe(ARCHIVED);
}

#[test]
fn project_is_reached_after_the_answer_to_an_addition() {
    assert_safe(ADDED);
    assert_safe(UNARCHIVED);
}

#[test]
fn fault_in_remembering_what_consumers_reach_is_found() {
    for mutant in [
        Mutant::FillGuardMissing,
        Mutant::FillWithoutLease,
        Mutant::LeaseCheckMissing,
        Mutant::AcknowledgedBeforeEvicted,
        Mutant::AcknowledgementNotAwaited,
    ] {
        for bounds in [REMOVED, ADDED, ARCHIVED, UNARCHIVED] {
            assert_found(mutant, bounds);
        }
    }
}

#[test]
fn reading_from_before_the_revocation_is_found() {
    assert_found(Mutant::EarlierReadingTaken, WATCHED);
}

#[test]
fn ignored_age_is_found() {
    assert_found(Mutant::AgeIgnored, MISLED);
    assert_found(Mutant::AgeIgnored, MISLED_REACH);
}

#[test]
fn missing_fill_guard_is_found() {
    assert_found(Mutant::FillGuardMissing, ONE_KEY);
}

#[test]
fn fill_that_began_without_a_lease_is_found() {
    assert_found(Mutant::FillWithoutLease, ONE_KEY);
}

#[test]
fn lease_checked_before_the_generation_is_found() {
    // The first revocation strikes the replica off, and the second one is not waited for.
    assert_found(Mutant::LeaseCheckedFirst, TWO_KEYS);
}

#[test]
fn missing_lease_check_is_found() {
    assert_found(Mutant::LeaseCheckMissing, ONE_KEY);
}

#[test]
fn missing_wait_for_acknowledgements_is_found() {
    assert_found(Mutant::AcknowledgementNotAwaited, ONE_KEY);
}

#[test]
fn acknowledgement_before_eviction_is_found() {
    assert_found(Mutant::AcknowledgedBeforeEvicted, ONE_KEY);
}

#[test]
fn lease_counted_from_the_answer_is_found() {
    assert_found(Mutant::LeaseCountsFromAnswer, ONE_KEY);
}

#[test]
fn lease_renewed_without_acknowledgement_is_found() {
    assert_found(Mutant::LeaseWithoutAcknowledgement, TWO_KEYS);
}

#[test]
fn replica_that_ignores_being_struck_off_is_found() {
    assert_found(Mutant::StrikingOffIgnored, ONE_KEY);
}

#[test]
fn ignored_gap_in_the_log_is_found() {
    assert_found(Mutant::GapInLogIgnored, TWO_KEYS);
}

#[test]
fn ignored_restored_row_is_found() {
    assert_found(Mutant::RestoredRowIgnored, RESTORED);
}

#[test]
fn wait_shorter_than_the_lease_is_found() {
    assert_found(Mutant::WaitShorterThanLease, ONE_KEY);
}

#[test]
fn replica_struck_off_too_early_is_found() {
    assert_found(Mutant::StruckOffTooEarly, TWO_KEYS);
}

#[test]
fn repeated_revocation_answered_at_once_is_found() {
    assert_found(Mutant::RepetitionNotAwaited, REPEATED);
}

#[test]
fn lease_on_a_clock_that_sleeps_is_found() {
    let bounds = Bounds {
        clock: LeaseClock::Monotonic,
        ..CLOCKS
    };
    assert!(matches!(walk(bounds, None), Finding::Accepted(_)));
}

#[test]
fn lease_on_the_time_of_day_is_found() {
    let bounds = Bounds {
        clock: LeaseClock::TimeOfDay,
        ..CLOCKS
    };
    assert!(matches!(walk(bounds, None), Finding::Accepted(_)));
}

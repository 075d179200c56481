//! The conformance suite finds stores whose checks and changes are not one transaction.

use crate::broken_store::{Fault, assert_caught, caught};

caught! {
    key_limit_checked_outside_the_transaction_is_detected: Fault::CountsKeysBeforeTransaction => [
        "concurrent_key_creations_stop_at_the_limit",
    ];
    rate_limit_checked_outside_the_transaction_is_detected: Fault::ReadsRateLimitBeforeTransaction => [
        "concurrent_changes_admit_exactly_the_burst",
    ];
    lost_update_between_edits_is_detected: Fault::LosesConcurrentEdits => [
        "concurrent_edits_preserve_each_others_fields",
    ];
    second_successor_beside_a_live_one_is_detected: Fault::ReadsSuccessorsBeforeTransaction => [
        "concurrent_rotations_after_an_ended_successor_make_one",
    ];
    version_compared_before_the_transaction_is_detected: Fault::ComparesVersionsBeforeTransaction => [
        "concurrent_edits_of_one_version_apply_once",
        "concurrent_edit_and_revocation_of_one_version_apply_once",
        // A key that is revoked already needs none.
        "repeated_revocation_succeeds_with_any_version",
        "actor_and_key_state_are_reported_before_the_version",
    ];
    non_atomic_throttle_is_detected: Fault::ReadsThrottleBeforeTransaction => [
        "concurrent_attempts_are_limited_like_sequential_ones",
    ];
}

#[tokio::test]
async fn key_acting_after_concurrent_revocation_is_detected() {
    for (fault, by) in [
        (
            Fault::ChecksAddingKeyBeforeTransaction,
            "revoked_key_adds_no_key_after_concurrent_revocation_is_confirmed",
        ),
        (
            Fault::ChecksEditingKeyBeforeTransaction,
            "revoked_key_edits_nothing_after_concurrent_revocation_is_confirmed",
        ),
        (
            Fault::ChecksRotatingKeyBeforeTransaction,
            "revoked_key_rotates_nothing_after_concurrent_revocation_is_confirmed",
        ),
        (
            Fault::ChecksRevokingKeyBeforeTransaction,
            "revoked_key_revokes_nothing_after_concurrent_revocation_is_confirmed",
        ),
    ] {
        assert_caught(fault, &[by]).await;
    }
}

#[tokio::test]
async fn member_acting_after_concurrent_end_is_detected() {
    for (fault, by) in [
        (
            Fault::ChecksAddingMemberBeforeTransaction,
            "no_key_is_accepted_after_membership_end_is_confirmed",
        ),
        (
            Fault::ChecksEditingMemberBeforeTransaction,
            "no_key_is_edited_after_membership_end_is_confirmed",
        ),
        (
            Fault::ChecksRotatingMemberBeforeTransaction,
            "no_key_is_rotated_after_membership_end_is_confirmed",
        ),
        (
            Fault::ChecksRevokingKeyBeforeTransaction,
            "no_key_revokes_another_after_membership_end_is_confirmed",
        ),
    ] {
        assert_caught(fault, &[by]).await;
    }
}

#[tokio::test]
async fn owner_acting_after_concurrent_end_is_detected() {
    for (fault, by) in [
        (
            Fault::ChecksRevokingOwnerBeforeTransaction,
            "removed_owner_revokes_no_key_after_removal_is_confirmed",
        ),
        (
            Fault::ChecksProjectOwnerBeforeTransaction,
            "removed_owner_adds_no_project_after_removal_is_confirmed",
        ),
    ] {
        assert_caught(fault, &[by]).await;
    }
}

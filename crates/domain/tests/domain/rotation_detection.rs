//! The conformance suite fails for stores that rotate keys wrongly, or take a request that is sent again for a new one.

use crate::broken_store::{Fault, assert_fails, caught};

caught! {
    rotation_that_is_not_counted_is_detected: Fault::IgnoresRateLimitOfRotations => ["rotation_is_limited_and_counted"];
    rotation_beyond_a_keys_right_is_detected: Fault::LetsEveryKeyRotate => [
        "rotation_checks_who_acts",
        "key_gives_itself_no_longer_life_by_rotation",
        "successor_is_revoked_with_the_key_that_made_it",
    ];
    key_that_is_rotated_only_once_is_detected: Fault::RotatesEachKeyOnce => [
        "key_whose_successor_ended_is_rotated_again",
        "key_rotates_itself_again_once_its_successor_ended",
        "concurrent_rotations_after_an_ended_successor_make_one",
        "rotated_key_counts_as_one_with_its_last_successor",
        "key_whose_successor_was_purged_is_rotated_again",
    ];
    fixed_end_of_a_key_whose_successor_ended_is_detected: Fault::RefusesNewEndsOfRotatedKeys => [
        "end_of_a_key_whose_successor_ended_is_moved",
    ];
    key_that_ends_for_an_ended_successor_is_detected: Fault::EndsKeysForEndedSuccessors => [
        "use_of_an_ended_successor_ends_no_key",
    ];
    successor_with_more_rights_is_detected: Fault::LetsSuccessorsManageKeys => [
        "rotated_key_and_its_successor_are_stored",
    ];
    key_beyond_the_longest_life_is_detected: Fault::IgnoresLongestLife => [
        "new_key_ends_within_the_longest_life",
        "planned_end_stays_within_the_longest_life",
        "successor_ends_within_the_longest_life",
    ];
    chain_of_keys_without_maximum_is_detected: Fault::IgnoresMaxTreeDepth => [
        "valid_keys_of_a_key_tree_have_a_maximum_depth",
        "revoked_key_frees_a_level_of_its_key_tree",
        "rotation_lengthens_no_chain_of_keys",
    ];
    rotated_key_that_counts_twice_in_its_chain_is_detected: Fault::CountsRotatedKeysInChains => [
        "rotated_key_counts_as_one_with_its_successor_below",
    ];
    idempotency_key_that_ignores_the_request_is_detected: Fault::IgnoresRequestDigests => [
        "idempotency_key_of_a_different_request_is_refused",
        "idempotency_key_of_a_request_is_free_after_24_hours",
        "repeated_rotation_request_tells_its_successor",
    ];
    accepted_invitation_that_stays_pending_is_detected: Fault::KeepsAcceptedInvitations => [
        "pending_invitations_are_listed_newest_first",
    ];
}

#[tokio::test]
async fn forgotten_idempotency_key_of_a_key_is_detected() {
    let by = [
        "repeated_request_creates_one_key",
        "concurrently_repeated_requests_create_one_key",
        "repeated_rotation_request_tells_its_successor",
    ];
    assert_fails(Fault::IgnoresIdempotencyKeysOfKeys, &by).await;
}

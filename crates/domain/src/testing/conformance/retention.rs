//! Cases of the [port of retention](crate::retention::ports).

mod audit_event_cases;
mod clock_cases;
mod dead_key_cases;
mod ended_invitation_cases;
mod expired_session_cases;
mod idempotency_key_cases;
mod planned_end_cases;
mod purged_successor_cases;
mod retained_key_tree_cases;
mod scene;
mod surplus_key_cases;
mod surplus_removal_cases;
mod throttle_bucket_cases;

super::cases::cases! { $
    /// Each case of the port of retention by itself: an async function that takes fresh
    /// [`Stores`](super::Stores) and panics if the store breaks the promise that the function is named for.
    retention_cases(Stores), retention_tests
    dead_key_cases {
        keys_are_removed_after_their_retention
        keys_of_an_ended_membership_are_removed_after_retention
        removal_batch_size_is_limited
        removed_key_is_gone_and_its_events_remain
        concurrent_removals_count_each_key_once
        dead_key_removal_completes_after_caller_cancellation
    }
    surplus_key_cases {
        keys_that_ended_last_are_kept
        surplus_keys_are_kept_until_the_cutoff
        surplus_key_created_after_the_cutoff_is_kept
        each_member_with_surplus_keys_is_found_once
        planned_end_makes_no_surplus_until_it_is_recorded
        surplus_keys_of_former_members_are_removed
    }
    surplus_removal_cases {
        children_of_surplus_keys_stay_in_the_key_tree
        surplus_removal_batch_size_is_limited
        concurrent_surplus_removals_count_each_key_once
        surplus_removal_completes_after_caller_cancellation
    }
    planned_end_cases {
        expired_key_is_kept_until_its_end_is_recorded
        keys_are_kept_until_their_memberships_end_is_recorded
    }
    retained_key_tree_cases {
        descendants_of_a_removed_key_stay_in_its_parents_tree
        removing_the_root_leaves_one_key_tree_per_child
        successor_stays_away_from_its_creator_without_its_adopter
        removed_key_becomes_no_parent
        key_chain_stays_connected_after_removals_in_any_order
        descendants_of_a_removed_key_are_revoked_with_selected_ancestors
        cutoff_time_selects_descendants_of_removed_keys
        tree_depth_counts_valid_keys_above_a_removed_key
        key_tree_stays_connected_during_concurrent_removals
        removed_key_remains_recorded_as_creator_of_its_children
        continuously_replaced_keys_stay_few_and_in_one_key_tree
    }
    purged_successor_cases {
        key_whose_successor_was_purged_is_rotated_again
    }
    ended_invitation_cases {
        invitations_are_removed_after_their_retention
        member_who_joined_with_a_removed_invitation_remains
    }
    expired_session_cases {
        expired_sessions_are_removed
    }
    idempotency_key_cases {
        idempotency_keys_of_requests_are_forgotten
        idempotency_keys_of_forms_are_kept
    }
    throttle_bucket_cases {
        refilled_buckets_are_removed_without_granting_attempts
    }
    clock_cases {
        clock_far_ahead_is_rejected_at_every_check
    }
    audit_event_cases {
        events_past_retention_are_removed_with_a_removal_event
        removing_no_events_writes_no_event
        removal_without_an_event_records_none
        oldest_events_are_removed_first_up_to_the_limit
        events_are_kept_when_removal_event_cannot_be_written
    }
}

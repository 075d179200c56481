//! What the [port of retention](crate::retention::ports) promises.

mod audit_event_cases;
mod clock_cases;
mod dead_key_cases;
mod ended_invitation_cases;
mod expired_session_cases;
mod planned_end_cases;
mod retained_key_tree_cases;
mod scene;
mod throttle_bucket_cases;

super::cases::cases! { $
    /// Each case of the port of retention by itself: an async function that takes fresh [`Stores`](super::Stores)
    /// and panics if the store breaks the promise that the function is named for.
    retention_cases(Stores), retention_tests
    dead_key_cases {
        keys_go_once_they_are_dead_for_long_enough
        keys_of_a_membership_that_ended_go_with_time
        what_is_removed_at_once_has_a_limit
        a_removed_key_is_nowhere_and_its_events_stay
        keys_that_are_removed_many_times_at_once_are_counted_once
        dead_keys_are_removed_in_full_even_if_the_caller_stops_waiting
    }
    planned_end_cases {
        a_key_stays_until_long_enough_after_its_planned_end
        keys_stay_until_long_enough_after_the_planned_end_of_their_membership
    }
    retained_key_tree_cases {
        what_came_from_a_removed_key_stays_in_the_family_above_it
        a_family_of_which_the_first_key_was_removed_stays_one_below_each_of_its_children
        nobody_is_adopted_by_a_key_that_went_before
        a_line_of_keys_keeps_its_ends_together_however_its_middle_is_removed
        what_came_from_a_removed_key_is_revoked_with_any_other_selected_key
        a_line_counts_what_is_valid_above_a_removed_key
        a_family_keeps_together_while_many_remove_its_dead_at_once
        a_removed_key_still_tells_its_children_who_made_them
        keys_that_are_replaced_for_ever_are_few_and_one_family
    }
    ended_invitation_cases {
        invitations_go_once_they_are_over_for_long_enough
        who_joined_with_a_removed_invitation_stays
    }
    expired_session_cases {
        sessions_go_once_they_have_expired
    }
    throttle_bucket_cases {
        buckets_go_once_they_ran_empty_and_nobody_gets_more_attempts
    }
    clock_cases {
        a_clock_that_is_far_ahead_is_doubted_at_every_look
    }
    audit_event_cases {
        events_go_once_they_are_old_enough_and_their_removal_is_an_event
        removing_no_events_is_no_event
        a_removal_without_an_event_writes_none
        the_oldest_events_go_first_and_no_more_than_asked
        events_whose_removal_cannot_be_written_stay
    }
}

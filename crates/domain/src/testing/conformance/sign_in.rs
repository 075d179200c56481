//! What the ports of users and sign-in promise.

mod account_cases;
mod installation_cases;
mod organization_cases;
mod password_change_cases;
mod scene;
mod session_cases;
mod session_end_cases;
mod session_start_cases;
mod sessions;
mod throttle_cases;

super::cases::cases! { $
    /// Each case of the ports of users and sign-in by itself: an async function that takes fresh [`Stores`](super::Stores)
    /// and panics if the store breaks the promise that the function is named for.
    sign_in_cases(Stores), sign_in_tests
    account_cases {
        an_account_reads_back_as_it_was_added
        an_unknown_username_has_no_account
        a_username_is_given_once
        of_many_concurrent_accounts_with_one_username_one_is_added
        an_account_whose_event_cannot_be_written_is_not_added
        an_account_is_added_in_full_even_if_the_caller_stops_waiting
        organizations_come_by_name
        a_replaced_password_ends_all_sessions_of_its_user
        the_password_of_an_unknown_user_is_not_replaced
        a_password_whose_event_cannot_be_written_is_not_replaced
        a_password_is_replaced_in_full_even_if_the_caller_stops_waiting
        keys_outlive_a_replaced_password
    }
    organization_cases {
        a_further_organization_has_its_first_owner_from_the_start
        an_organization_is_found_by_its_whole_slug
        a_slug_that_is_taken_gets_the_next_number
        of_many_concurrent_organizations_with_one_name_each_gets_a_slug_of_its_own
        an_organization_whose_events_cannot_be_written_is_not_added
        an_organization_is_added_in_full_even_if_the_caller_stops_waiting
    }
    session_start_cases {
        a_session_reads_back_as_it_was_started
        starting_a_session_writes_its_event
        a_session_ends_when_another_replaces_it
        the_end_of_a_replaced_session_is_told_if_it_was_live
        the_end_of_a_replaced_session_names_whose_it_was_unless_it_was_the_newcomers
        a_session_whose_end_cannot_be_told_is_not_replaced
        a_session_starts_even_if_the_one_it_replaces_is_gone
        a_session_whose_event_cannot_be_written_does_not_start
        a_session_starts_in_full_even_if_the_caller_stops_waiting
        no_session_starts_with_a_password_that_was_replaced
        no_session_outlives_a_password_that_is_replaced_meanwhile
        the_oldest_sessions_end_with_their_events_when_there_are_too_many
        a_session_of_a_clock_that_is_behind_ends_no_session_of_its_own
        sessions_that_start_at_once_are_not_too_many
    }
    session_cases {
        an_unknown_session_is_not_found
        a_session_is_found_by_every_byte_of_its_digest
        the_sessions_of_a_user_are_listed_latest_first
        a_session_is_seen_forward_only
        an_expired_session_is_still_found
        of_many_concurrent_sightings_the_last_moment_stays
    }
    session_end_cases {
        an_ended_session_is_gone
        a_session_ends_once
        nobody_ends_somebody_elses_session
        it_is_no_event_that_an_expired_session_ends
        all_other_sessions_of_a_user_end_at_once_each_with_its_event
        a_session_that_has_ended_ends_no_others
        other_sessions_whose_end_cannot_be_written_go_on
        of_sessions_that_end_each_other_at_once_one_stays
        sessions_that_end_by_themselves_while_all_others_end_do_so_once
        many_concurrent_ends_of_one_session_write_one_event
        a_session_ends_in_full_even_if_the_caller_stops_waiting
        a_session_whose_end_cannot_be_written_goes_on
    }
    password_change_cases {
        a_changed_password_ends_the_users_other_sessions
        a_password_that_was_replaced_meanwhile_is_not_changed
        a_password_change_whose_event_cannot_be_written_does_not_happen
        a_password_change_happens_in_full_even_if_the_caller_stops_waiting
    }
    throttle_cases {
        attempts_are_taken_as_the_rule_says
        buckets_do_not_share_attempts
        an_attempt_is_taken_from_all_buckets_or_from_none
        an_attempt_that_is_given_back_was_never_taken
        attempts_of_many_at_once_are_taken_and_given_back_one_by_one
        concurrent_attempts_pass_no_more_often_than_one_after_the_other
        events_are_written_until_a_limit_is_reached
        events_that_cannot_be_written_take_nothing
        events_of_many_at_once_keep_their_limit
        events_are_written_even_if_the_caller_stops_waiting
    }
    installation_cases {
        an_empty_store_is_not_set_up
        a_link_works_until_it_expires
        a_new_link_replaces_the_one_before
        a_link_works_by_every_byte_of_its_digest
        a_link_is_replaced_in_full_even_if_the_caller_stops_waiting
        a_link_whose_event_cannot_be_written_replaces_nothing
        the_link_sets_up_organization_owner_and_membership
        the_command_line_sets_up_without_a_link
        the_command_line_ends_a_link_that_was_not_used
        a_link_that_does_not_work_sets_nothing_up
        nothing_is_set_up_twice
        there_is_no_link_after_the_setup
        a_setup_whose_events_cannot_be_written_does_not_happen
        a_setup_happens_in_full_even_if_the_caller_stops_waiting
        of_many_concurrent_setups_one_succeeds
        no_link_survives_a_concurrent_setup
        the_first_browser_key_stays
        of_many_browser_keys_at_once_one_stays
    }
}

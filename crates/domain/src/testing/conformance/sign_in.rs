//! Cases of the ports of users and sign-in.

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
    /// Each case of the ports of users and sign-in by itself: an async function that takes fresh
    /// [`Stores`](super::Stores) and panics if the store breaks the promise that the function is named for.
    sign_in_cases(Stores), sign_in_tests
    account_cases {
        account_reads_back_as_added
        unknown_username_has_no_account
        username_is_unique
        concurrent_accounts_with_one_username_add_one
        account_is_not_added_when_event_cannot_be_written
        account_creation_completes_after_caller_cancellation
        organizations_are_listed_by_name
        password_replacement_ends_all_sessions_of_its_user
        password_of_an_unknown_user_is_not_replaced
        password_is_not_replaced_when_event_cannot_be_written
        password_replacement_completes_after_caller_cancellation
        keys_remain_valid_after_password_replacement
    }
    organization_cases {
        additional_organization_has_its_first_owner_from_creation
        organization_is_found_by_its_full_slug
        taken_slug_gets_the_next_number
        concurrent_organizations_with_one_name_get_distinct_slugs
        organization_is_not_added_when_events_cannot_be_written
        organization_creation_completes_after_caller_cancellation
    }
    session_start_cases {
        session_reads_back_as_started
        session_start_writes_its_event
        session_ends_when_another_replaces_it
        replacing_an_active_session_writes_an_end_event
        end_event_of_a_replaced_session_names_a_different_user
        session_is_not_replaced_when_end_event_cannot_be_written
        session_starts_although_the_replaced_one_is_gone
        session_does_not_start_when_event_cannot_be_written
        session_start_completes_after_caller_cancellation
        no_session_starts_with_a_replaced_password
        no_session_survives_a_concurrent_password_replacement
        oldest_sessions_over_the_limit_end_with_events
        session_started_by_a_slow_clock_is_not_ended_itself
        concurrent_session_starts_respect_the_limit
    }
    session_cases {
        unknown_session_is_not_found
        session_lookup_compares_every_byte_of_the_digest
        sessions_of_a_user_are_listed_latest_first
        last_seen_time_of_a_session_only_moves_forward
        expired_session_is_still_found
        concurrent_session_uses_keep_the_latest_time
    }
    session_end_cases {
        ended_session_is_removed
        session_ends_once
        ending_another_users_session_is_refused
        ending_an_expired_session_writes_no_event
        all_other_sessions_end_at_once_with_one_event_each
        ended_session_ends_no_other_sessions
        other_sessions_continue_when_end_events_cannot_be_written
        sessions_ending_each_other_concurrently_leave_one
        sessions_signing_out_during_sign_out_everywhere_end_once
        concurrent_ends_of_one_session_write_one_event
        session_end_completes_after_caller_cancellation
        session_continues_when_end_event_cannot_be_written
    }
    password_change_cases {
        password_change_ends_the_users_other_sessions
        concurrently_replaced_password_is_not_changed
        password_change_fails_when_event_cannot_be_written
        password_change_completes_after_caller_cancellation
    }
    throttle_cases {
        attempts_are_counted_by_the_rule
        buckets_are_counted_separately
        attempt_is_counted_in_all_buckets_or_none
        returned_attempt_is_not_counted_in_store
        concurrent_attempts_are_counted_and_returned_one_by_one
        concurrent_attempts_are_limited_like_sequential_ones
        events_are_written_until_their_limit
        unwritable_events_count_no_attempt
        concurrent_events_respect_their_limit
        limited_events_are_written_after_caller_cancellation
    }
    installation_cases {
        empty_store_is_not_set_up
        link_works_until_it_expires
        new_setup_link_replaces_the_previous_one
        setup_link_lookup_compares_every_byte_of_the_digest
        setup_link_replacement_completes_after_caller_cancellation
        setup_link_is_unchanged_when_event_cannot_be_written
        setup_link_creates_organization_owner_and_membership
        command_line_sets_up_without_a_link
        command_line_setup_invalidates_an_unused_link
        invalid_setup_link_sets_nothing_up
        second_setup_is_refused
        no_setup_link_exists_after_setup
        setup_fails_when_events_cannot_be_written
        setup_completes_after_caller_cancellation
        concurrent_setups_succeed_once
        no_setup_link_survives_a_concurrent_setup
        first_browser_key_is_permanent
        concurrent_browser_keys_leave_one
    }
}

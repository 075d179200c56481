//! What the [key ports](super::KeyStores) promise.

mod acting_key_cases;
mod add_key_cases;
mod audit_filter_cases;
mod audit_log_cases;
mod change_rate_cases;
mod concurrent_key_cases;
mod credential_cases;
mod descendant_cases;
mod edit_key_cases;
mod find_key_cases;
mod key_right_cases;
mod line_cases;
mod list_key_cases;
mod membership_cases;
mod planned_end_cases;
mod precondition_cases;
mod revoke_key_cases;
mod search_key_cases;

super::cases::cases! { $
    /// Each case of the key ports by itself: an async function that takes fresh [`KeyStores`](super::KeyStores)
    /// and panics if the store breaks the promise that the function is named for.
    key_cases(KeyStores), key_tests
    add_key_cases {
        a_key_reads_back_as_it_was_added
        the_longest_texts_fit
        adding_a_key_writes_its_event
        a_key_whose_event_cannot_be_written_is_not_added
        a_key_is_added_in_full_even_if_the_caller_stops_waiting
        no_key_is_added_once_the_membership_has_ended
        no_key_is_added_for_a_consumer_that_does_not_exist
        no_key_is_added_below_a_revoked_key
        no_key_is_added_below_a_key_that_does_not_exist
        no_key_is_added_below_another_consumers_key
        no_key_is_added_below_a_key_of_the_same_users_other_membership
        a_form_sent_twice_creates_one_key
        a_form_stays_used_after_its_key_was_revoked
        two_consumers_may_send_the_same_nonce
        a_refused_form_can_be_sent_again
        a_consumer_has_no_more_valid_keys_than_the_limit
        a_lowered_limit_holds_at_once
        revoked_keys_and_other_consumers_keys_do_not_count
        a_gone_holder_is_told_before_a_repeated_form
        a_gone_holder_is_told_before_the_limit
        a_repeated_form_is_told_before_the_limit
        no_two_keys_share_a_token
    }
    planned_end_cases {
        a_key_is_accepted_until_its_planned_end
        keys_are_accepted_until_the_planned_end_of_their_membership
        a_key_is_listed_as_valid_until_its_planned_end
        a_key_counts_for_the_limit_until_its_planned_end
        a_key_counts_for_its_line_until_its_planned_end
        a_key_acts_until_its_planned_end
        a_key_is_edited_until_its_planned_end
        revoking_a_key_before_its_planned_end_ends_it_then
        revoking_a_key_whose_planned_end_has_come_records_that_end
        revoking_a_tree_records_the_planned_ends_below_that_have_come
        descendants_are_valid_until_their_planned_end
        a_member_is_live_until_the_planned_end
        what_somebody_ended_is_over_by_a_clock_that_is_behind
    }
    key_right_cases {
        a_key_keeps_whether_it_may_manage_keys
        a_credential_tells_whether_its_key_may_manage_keys
        the_event_of_a_new_key_tells_whether_it_may_manage_keys
        a_key_that_may_not_manage_keys_creates_none
        a_key_that_may_not_manage_keys_edits_only_itself
        a_key_that_may_not_manage_keys_revokes_only_itself
        a_key_is_as_its_organization_has_chosen_if_nobody_asks
    }
    find_key_cases {
        an_unknown_key_is_not_found
        another_consumers_key_is_not_found
        a_key_of_the_same_users_other_membership_is_not_found
        a_revoked_key_is_still_found
        of_many_keys_the_consumers_own_are_found_each_once
    }
    list_key_cases {
        keys_are_listed_newest_first
        a_consumer_without_keys_has_an_empty_page
        pages_of_every_size_add_up_to_the_whole_list
        a_list_of_keys_goes_on_beyond_a_hundred
        a_full_last_page_has_no_next
        a_page_goes_on_after_an_identifier_that_names_no_key
        a_page_goes_on_after_a_key_that_left_the_filter
        another_consumers_keys_are_never_listed
        a_list_shows_only_keys_of_the_asked_status
        a_listed_key_is_whole
    }
    search_key_cases {
        a_search_finds_names_in_any_case_and_script
        wildcards_and_quotes_in_a_search_are_literal
        a_search_for_what_no_text_may_hold_finds_nothing
        a_search_reads_descriptions_and_the_last_four_characters
        a_search_without_a_term_finds_all
        a_search_follows_edits
        a_search_stays_within_the_consumer_and_the_status
        a_search_goes_on_over_pages
    }
    descendant_cases {
        descendants_are_all_generations_newest_first
        a_childless_key_has_no_descendants_and_no_key_is_its_own
        descendants_are_found_through_revoked_keys
        a_long_line_of_descendants_is_found_to_its_end
        an_unknown_key_has_no_descendants
        another_consumers_key_has_no_descendants
    }
    change_rate_cases {
        the_121st_change_at_once_is_refused_with_the_time_to_wait
        after_the_wait_one_change_is_let_through
        creating_and_editing_keys_count_for_one_consumer
        consumers_do_not_share_a_rate
        revoking_is_neither_refused_nor_counted
        a_refused_change_does_not_count
        an_edit_that_changes_nothing_counts
        a_gone_holder_is_told_before_the_rate
        the_rate_is_told_before_what_costs_more_to_find_out
        a_moment_far_beyond_any_clock_refuses_nobody
        concurrent_changes_let_exactly_the_burst_through
    }
    line_cases {
        a_line_has_no_more_valid_keys_than_it_may
        a_revoked_key_makes_room_in_its_line
        a_key_that_succeeds_itself_goes_on_for_ever
    }
    edit_key_cases {
        an_edit_changes_only_what_it_names
        an_edit_writes_its_event
        an_edit_that_changes_nothing_writes_no_event
        an_edit_whose_event_cannot_be_written_does_not_happen
        an_edit_happens_in_full_even_if_the_caller_stops_waiting
        a_revoked_key_cannot_be_edited
        no_key_is_edited_once_the_membership_has_ended
        a_key_that_was_revoked_edits_no_other
        an_unknown_key_cannot_be_edited
        another_consumers_key_cannot_be_edited
        concurrent_edits_keep_each_others_fields
    }
    revoke_key_cases {
        a_revocation_keeps_its_moment_actor_and_reason
        a_second_revocation_changes_nothing
        an_unknown_key_cannot_be_revoked
        another_consumers_key_cannot_be_revoked
        a_key_that_was_revoked_revokes_no_other
        keys_of_an_ended_membership_are_revoked_by_others_only
        other_keys_survive_a_revocation
        descendants_survive_unless_asked_for
        every_generation_survives_unless_asked_for
        all_generations_are_revoked_if_asked_for
        a_long_line_of_descendants_is_revoked_to_its_end
        descendants_below_revoked_keys_are_revoked_too
        descendants_of_a_key_revoked_before_can_still_be_revoked
        each_revoked_key_has_its_own_event
        a_revocation_whose_event_cannot_be_written_does_not_happen
        a_revocation_happens_in_full_even_if_the_caller_stops_waiting
        once_revoked_a_key_opens_nothing_and_has_no_more_children
    }
    precondition_cases {
        of_two_edits_of_one_version_the_second_is_refused
        an_edit_may_name_several_versions_or_none
        of_many_concurrent_edits_of_one_version_one_happens
        a_revocation_of_another_version_revokes_nothing
        a_repeated_revocation_succeeds_whatever_the_version
        an_edit_and_a_revocation_of_one_version_do_not_both_happen
        who_acts_and_the_keys_state_are_told_before_its_version
    }
    acting_key_cases {
        a_key_adds_no_key_once_its_concurrent_revocation_is_answered
        a_key_changes_nothing_once_its_concurrent_revocation_is_answered
        a_key_revokes_no_key_once_its_concurrent_revocation_is_answered
    }
    concurrent_key_cases {
        of_many_concurrent_keys_only_as_many_as_the_limit_allows_are_added
        a_form_sent_many_times_at_once_creates_one_key
        many_concurrent_revocations_of_one_key_write_one_event
        no_child_outlives_a_concurrent_revocation_with_descendants
        concurrent_revocations_of_one_family_write_one_event_per_key
    }
    credential_cases {
        a_credential_holds_every_fact_about_the_caller
        an_unknown_digest_has_no_credential
        a_credential_is_found_by_every_byte_of_its_digest
        a_credential_tells_when_its_key_was_revoked
        credentials_tell_at_once_when_their_membership_has_ended
        keys_stay_dead_when_their_user_is_invited_again
    }
    membership_cases {
        a_live_member_is_found_whole
        whoever_left_is_no_member
        whoever_was_invited_again_is_a_new_member
        a_strangers_organization_looks_like_none
        a_user_is_another_member_in_each_organization
        the_organizations_of_a_user_come_by_name
    }
    audit_log_cases {
        every_kind_of_event_reads_back_as_it_was_recorded
        an_event_is_listed_in_its_organization_only
        pages_of_events_add_up_to_the_whole_log
        the_log_goes_on_beyond_a_hundred_events
        a_page_of_events_goes_on_after_an_identifier_that_names_no_event
        a_recorded_event_is_never_replaced
        events_come_by_moment_and_then_by_identifier
    }
    audit_filter_cases {
        a_filter_by_actor_finds_what_they_did
        a_filter_by_action_finds_what_was_done
        a_filter_by_subject_finds_what_it_was_in
        a_span_begins_at_its_first_moment_and_ends_before_its_last
        a_span_goes_by_moments_whatever_the_identifiers_say
        filters_hold_together
        every_filter_goes_on_over_pages
        no_filter_finds_another_organizations_events
    }
}

//! Cases of the [key ports](super::KeyStores).

mod acting_key_cases;
mod add_key_cases;
mod audit_filter_cases;
mod audit_log_cases;
mod change_rate_cases;
mod concurrent_key_cases;
mod credential_cases;
mod descendant_cases;
mod edit_key_cases;
mod ended_successor_cases;
mod expiry_cases;
mod find_key_cases;
mod key_right_cases;
mod key_tree_depth_cases;
mod list_key_cases;
mod longest_life_cases;
mod membership_cases;
mod planned_end_cases;
mod precondition_cases;
mod repeated_request_cases;
mod revoke_key_cases;
mod rotation_cases;
mod search_key_cases;

super::cases::cases! { $
    /// Each case of the key ports by itself: an async function that takes fresh
    /// [`KeyStores`](super::KeyStores) and panics if the store breaks the promise that the function is named
    /// for.
    key_cases(KeyStores), key_tests
    add_key_cases {
        key_reads_back_as_added
        longest_texts_can_be_stored
        key_creation_writes_its_event
        key_is_not_added_when_event_cannot_be_written
        key_creation_completes_after_caller_cancellation
        no_key_is_added_after_the_membership_ended
        no_key_is_added_for_an_unknown_consumer
        no_key_is_added_below_a_revoked_key
        no_key_is_added_below_an_unknown_key
        no_key_is_added_below_another_consumers_key
        no_key_is_added_below_a_key_of_another_membership
        form_sent_twice_creates_one_key
        form_stays_used_after_its_key_was_revoked
        two_consumers_may_use_the_same_idempotency_key
        refused_form_can_be_submitted_again
        valid_keys_of_a_consumer_never_exceed_the_limit
        lowered_limit_applies_immediately
        revoked_keys_and_other_consumers_keys_do_not_count
        missing_holder_is_reported_before_a_repeated_form
        missing_holder_is_reported_before_the_limit
        repeated_form_is_reported_before_the_limit
        key_with_an_existing_token_is_refused
    }
    repeated_request_cases {
        repeated_request_creates_one_key
        repeated_request_finds_its_revoked_key
        idempotency_key_of_a_different_request_is_refused
        consumers_may_choose_the_same_idempotency_key
        idempotency_key_of_a_request_is_free_after_24_hours
        refused_request_does_not_use_its_idempotency_key
        missing_holder_is_reported_before_a_repeated_request
        concurrently_repeated_requests_create_one_key
    }
    planned_end_cases {
        key_is_accepted_until_its_planned_end
        keys_are_accepted_until_their_memberships_planned_end
        key_is_listed_as_valid_until_its_planned_end
        key_counts_toward_the_limit_until_its_planned_end
        key_counts_toward_tree_depth_until_its_planned_end
        key_acts_until_its_planned_end
        key_is_editable_until_its_planned_end
        revocation_before_the_planned_end_ends_the_key_immediately
        revoking_an_elapsed_key_records_its_planned_end
        revoking_a_tree_records_elapsed_planned_ends_below
        descendants_are_valid_until_their_planned_end
        member_is_active_until_the_planned_end
        revoked_and_ended_states_hold_on_a_slow_clock
    }
    key_right_cases {
        key_keeps_its_right_to_manage_keys
        credential_includes_the_right_to_manage_keys
        key_creation_event_records_the_right_to_manage_keys
        restricted_key_creates_no_keys_in_store
        restricted_key_edits_only_itself
        restricted_key_revokes_only_itself
        unspecified_key_right_defaults_to_the_organizations_choice
    }
    rotation_cases {
        rotated_key_and_its_successor_are_stored
        rotation_at_once_revokes_the_old_key
        rotation_keeps_an_earlier_planned_end
        rotation_writes_its_events
        key_is_rotated_once
        rotating_a_successor_revokes_the_key_before
        rotated_key_and_its_successor_count_as_one
        end_of_a_rotated_key_is_not_postponed
        rotation_takes_a_valid_key_of_the_consumer
        rotation_checks_who_acts
        key_gives_itself_no_longer_life_by_rotation
        repeated_rotation_request_tells_its_successor
        rotation_may_use_a_forgotten_idempotency_key
        successor_is_revoked_with_the_key_that_made_it
        rotation_lengthens_no_chain_of_keys
        rotated_key_counts_as_one_with_its_successor_below
        rotation_fails_when_event_cannot_be_written
        rotation_completes_after_caller_cancellation
        rotation_that_began_before_an_end_comes_too_late
    }
    ended_successor_cases {
        key_whose_successor_ended_is_rotated_again
        key_rotated_again_after_a_grace_ends_on_first_use
        key_rotates_itself_again_once_its_successor_ended
        ended_key_with_a_successor_is_not_rotated
        end_of_a_key_whose_successor_ended_is_moved
        rotated_key_counts_as_one_with_its_last_successor
        concurrent_rotations_after_an_ended_successor_make_one
    }
    find_key_cases {
        unknown_key_is_not_found
        another_consumers_key_is_not_found
        users_key_in_another_organization_is_not_found
        revoked_key_is_still_found
        key_batch_lookup_returns_each_own_key_once
        leaked_keys_are_listed_last_revoked_first
    }
    list_key_cases {
        keys_are_listed_newest_first
        consumer_without_keys_has_an_empty_page
        pages_of_every_size_form_the_whole_list
        list_of_keys_continues_beyond_100
        full_last_page_has_no_next_page
        key_page_continues_after_an_unknown_identifier
        key_page_continues_after_a_key_that_left_the_filter
        another_consumers_keys_are_never_listed
        list_contains_only_keys_of_the_requested_status
        listed_key_is_complete
    }
    search_key_cases {
        key_search_ignores_case_in_every_script
        wildcards_and_quotes_in_key_search_are_literal
        key_search_for_forbidden_characters_finds_nothing
        key_search_matches_descriptions_and_last_four_characters
        key_search_without_term_finds_all
        key_search_reflects_edits
        key_search_is_limited_to_consumer_and_status
        key_search_continues_over_pages
    }
    descendant_cases {
        descendants_include_all_generations_newest_first
        childless_key_has_no_descendants_and_none_contains_itself
        descendants_are_found_below_revoked_keys
        long_chain_of_descendants_is_found_completely
        unknown_key_has_no_descendants
        another_consumers_key_has_no_descendants
    }
    change_rate_cases {
        change_121_in_one_burst_is_refused_with_its_wait
        one_change_is_accepted_after_the_wait
        creating_and_editing_keys_share_one_consumers_rate_limit
        consumers_have_separate_rate_limits
        revoking_is_neither_limited_nor_counted
        refused_change_is_not_counted
        ineffective_edit_is_counted
        rotation_is_limited_and_counted
        missing_holder_is_reported_before_the_rate_limit
        rate_limit_is_reported_before_more_expensive_checks
        recorded_change_time_far_in_the_future_refuses_no_change
        concurrent_changes_admit_exactly_the_burst
    }
    key_tree_depth_cases {
        valid_keys_of_a_key_tree_have_a_maximum_depth
        revoked_key_frees_a_level_of_its_key_tree
        key_that_replaces_itself_can_do_so_without_limit
    }
    edit_key_cases {
        edit_changes_only_the_given_fields
        edit_writes_its_event
        ineffective_edit_writes_no_event
        edit_fails_when_event_cannot_be_written
        edit_completes_after_caller_cancellation
        revoked_key_cannot_be_edited_in_store
        no_key_is_edited_after_the_membership_ended
        revoked_key_edits_no_other_key
        unknown_key_cannot_be_edited
        another_consumers_key_cannot_be_edited
        concurrent_edits_preserve_each_others_fields
    }
    expiry_cases {
        planned_end_is_set_moved_and_removed
        unchanged_planned_end_writes_no_event
        edit_of_name_and_end_writes_an_event_for_each
        edit_keeps_the_planned_end_unless_it_changes_it
        key_extends_itself_in_no_store
        planned_end_that_came_does_not_change
        edit_that_began_before_an_end_comes_too_late
        planned_end_that_passed_meanwhile_is_not_set
        key_whose_parent_ended_meanwhile_is_not_added
        list_filters_by_planned_end
    }
    longest_life_cases {
        new_key_ends_within_the_longest_life
        planned_end_stays_within_the_longest_life
        successor_ends_within_the_longest_life
    }
    revoke_key_cases {
        revocation_stores_time_actor_reason_and_note
        second_revocation_changes_nothing
        unknown_key_cannot_be_revoked
        another_consumers_key_cannot_be_revoked
        revoked_key_revokes_no_other_key
        keys_of_an_ended_membership_are_revoked_by_others_only
        other_keys_remain_valid_after_a_revocation
        descendants_remain_valid_unless_their_revocation_is_requested
        every_generation_remains_valid_unless_its_revocation_is_requested
        all_generations_are_revoked_when_requested
        long_chain_of_descendants_is_revoked_completely
        descendants_below_revoked_keys_are_revoked
        descendants_of_an_already_revoked_key_can_be_revoked
        each_revoked_key_has_its_own_event
        revocation_fails_when_event_cannot_be_written
        revocation_completes_after_caller_cancellation
        revoked_key_is_refused_and_gets_no_new_children
    }
    precondition_cases {
        second_edit_of_the_same_version_is_refused
        edit_precondition_names_several_versions_or_none
        concurrent_edits_of_one_version_apply_once
        revocation_of_another_version_revokes_nothing
        repeated_revocation_succeeds_with_any_version
        concurrent_edit_and_revocation_of_one_version_apply_once
        actor_and_key_state_are_reported_before_the_version
    }
    acting_key_cases {
        revoked_key_adds_no_key_after_concurrent_revocation_is_confirmed
        revoked_key_edits_nothing_after_concurrent_revocation_is_confirmed
        revoked_key_rotates_nothing_after_concurrent_revocation_is_confirmed
        revoked_key_revokes_nothing_after_concurrent_revocation_is_confirmed
    }
    concurrent_key_cases {
        concurrent_key_creations_stop_at_the_limit
        concurrent_submissions_of_one_form_create_one_key
        concurrent_revocations_of_one_key_write_one_event
        no_child_survives_a_concurrent_revocation_with_descendants
        no_successor_survives_a_concurrent_revocation_with_descendants
        concurrent_revocations_of_one_key_tree_write_each_event_once
    }
    credential_cases {
        credential_holds_all_facts_about_the_caller
        unknown_digest_has_no_credential
        credential_lookup_compares_every_byte_of_the_digest
        credential_includes_the_revocation_time_of_its_key
        credentials_immediately_reflect_the_end_of_their_membership
        keys_stay_invalid_when_their_user_is_invited_again
    }
    membership_cases {
        active_member_is_found_completely
        former_member_is_not_found
        member_invited_again_has_a_new_membership
        foreign_organization_is_not_found
        user_has_a_separate_membership_in_each_organization
        organizations_of_a_user_are_sorted_by_name
    }
    audit_log_cases {
        every_kind_of_event_reads_back_as_recorded
        event_is_listed_in_its_organization_only
        pages_of_events_form_the_whole_log
        log_continues_beyond_100_events
        event_page_continues_after_an_unknown_identifier
        recorded_event_is_never_replaced
        events_are_ordered_by_time_then_identifier
    }
    audit_filter_cases {
        actor_filter_finds_the_actors_events
        action_filter_finds_events_of_that_action
        subject_filter_finds_events_involving_the_subject
        time_range_includes_its_start_and_excludes_its_end
        time_range_filters_by_event_time_instead_of_identifier
        filters_are_combined
        every_filter_continues_over_pages
        no_filter_finds_other_organizations_events
    }
}

//! Cases of the administration ports.

mod accept_invitation_cases;
mod applied_life_cases;
mod audit_feed_cases;
mod batch_revocation_cases;
mod change_project_cases;
mod change_role_cases;
mod concurrent_member_cases;
mod default_key_right_cases;
mod end_membership_cases;
mod former_owner_cases;
mod invitation_cases;
mod invitation_form_cases;
mod inviter_cases;
mod key_scene;
mod last_use_cases;
mod leaked_key_cases;
mod leaving_holder_cases;
mod leaving_preview_cases;
mod list_member_cases;
mod list_project_cases;
mod long_list_cases;
mod longest_life_cases;
mod member_expiry_cases;
mod name_cases;
mod organization_key_cases;
mod planned_end_cases;
mod project_form_cases;
mod project_member_cases;
mod reachable_project_cases;
mod recorded_end_cases;
mod returning_member_cases;
mod returning_member_clock_cases;
mod revoke_descendants_cases;
mod rotated_end_cases;
mod scene;

super::cases::cases! { $
    /// Each case of the administration ports by itself: an async function that takes fresh
    /// [`Stores`](super::Stores) and panics if the store breaks the promise that the function is named for.
    administration_cases(Stores), administration_tests
    planned_end_cases {
        members_are_listed_until_their_planned_end
        member_stays_in_projects_until_the_planned_end
        owner_has_authority_until_the_planned_end
        membership_with_planned_end_can_be_ended_earlier
        member_past_planned_end_returns_with_a_later_invitation
        owners_see_keys_as_valid_until_their_planned_end
        owners_list_filters_by_planned_end
        previews_apply_planned_ends_at_the_given_time
        large_key_tree_shows_keys_first_until_their_planned_end
        owners_revoke_keys_until_their_planned_end
    }
    recorded_end_cases {
        end_is_due_from_its_moment_until_recorded
        recorded_key_end_keeps_its_plan_and_has_one_event
        the_recorded_end_of_a_membership_revokes_open_invitations
        a_batch_of_recorded_ends_has_a_limit
        ends_that_many_record_at_once_are_recorded_once
        an_end_whose_event_cannot_be_written_is_not_recorded
        ends_are_recorded_in_full_after_cancellation
        returning_member_has_no_invitations_from_before_planned_end
        ending_an_elapsed_membership_records_its_planned_end
        owners_record_planned_ends_of_selected_keys_that_have_come
        a_revocation_goes_on_until_no_selected_end_is_due
    }
    rotated_end_cases {
        rotated_key_ends_once_its_successor_was_used
        only_keys_that_wait_for_a_use_end_with_it
        use_of_an_ended_successor_ends_no_key
        a_batch_of_rotated_keys_has_a_limit
        rotated_key_whose_event_cannot_be_written_stays
    }
    list_member_cases {
        members_are_listed_latest_first
        pages_of_members_form_the_whole_list
        only_active_members_of_the_organization_are_listed
        member_is_found_in_their_organization_only
        active_member_is_identified_by_membership_or_full_username
        member_is_listed_with_count_of_valid_keys
        member_search_matches_usernames_and_display_names
        member_search_finds_members_of_the_previous_version_by_username
        wildcards_and_quotes_in_member_search_are_literal
        member_search_continues_over_pages
        members_are_found_by_exact_username_or_display_name
    }
    leaving_preview_cases {
        preview_counts_valid_and_recently_used_keys
        preview_lists_the_50_most_recently_used_keys
    }
    change_role_cases {
        changed_role_reads_back_with_its_event
        unchanged_role_writes_no_event
        last_owner_cannot_be_demoted
        the_last_owner_without_a_planned_end_stays_owner
        an_owner_is_not_the_last_while_there_is_another
        only_active_owners_and_administrators_change_roles
        role_changes_apply_to_active_members_of_the_organization_only
        role_is_unchanged_when_event_cannot_be_written
        role_change_completes_after_caller_cancellation
    }
    member_expiry_cases {
        planned_end_of_a_member_is_set_moved_and_removed
        last_permanent_owner_gets_no_planned_end
        two_owners_who_plan_each_others_end_leave_one
        only_active_owners_and_administrators_plan_ends_of_members
        planned_end_of_a_member_that_has_come_is_final
        member_end_that_came_meanwhile_is_final
        owner_whose_end_came_meanwhile_plans_no_end
        planned_end_is_unchanged_when_event_cannot_be_written
        planned_end_is_changed_after_caller_cancellation
    }
    end_membership_cases {
        removed_member_and_their_keys_are_rejected
        ending_one_membership_keeps_other_memberships_and_keys
        member_of_any_role_may_leave
        last_owner_can_neither_leave_nor_be_removed
        only_owners_administrators_and_the_member_end_a_membership
        only_active_memberships_of_the_organization_can_be_ended
        membership_continues_when_end_event_cannot_be_written
        membership_end_completes_after_caller_cancellation
    }
    concurrent_member_cases {
        concurrent_mutual_removal_of_two_owners_removes_one
        concurrent_mutual_demotion_of_two_owners_keeps_one_owner
        concurrent_leaving_of_two_owners_keeps_one
        concurrent_leaving_and_demotion_of_many_owners_keeps_one
        concurrent_ends_of_one_membership_end_it_once
    }
    leaving_holder_cases {
        no_key_is_accepted_after_membership_end_is_confirmed
        no_key_is_edited_after_membership_end_is_confirmed
        no_key_is_rotated_after_membership_end_is_confirmed
        no_key_revokes_another_after_membership_end_is_confirmed
    }
    former_owner_cases {
        removed_owner_revokes_no_key_after_removal_is_confirmed
        removed_owner_adds_no_project_after_removal_is_confirmed
    }
    long_list_cases {
        list_of_members_continues_beyond_100
        list_of_project_members_continues_beyond_100
        list_of_projects_continues_beyond_100
        list_of_reachable_projects_continues_beyond_100
        list_of_invitations_continues_beyond_100
        list_of_organization_keys_continues_beyond_100
    }
    list_project_cases {
        project_reads_back_as_added
        project_is_found_in_its_organization_only
        projects_are_listed_newest_first_and_by_status
        pages_of_projects_form_the_whole_list
        project_search_matches_names_literally
        projects_are_found_by_exact_name
        only_active_owners_and_administrators_create_projects
        project_is_not_added_when_event_cannot_be_written
        project_addition_completes_after_caller_cancellation
    }
    project_form_cases {
        project_form_creates_one_project_even_after_archival
        projects_of_two_organizations_may_use_one_idempotency_key
        form_state_is_hidden_from_members_who_cannot_create_projects
        concurrent_submissions_of_one_form_create_one_project
        refused_project_form_can_be_submitted_again
    }
    change_project_cases {
        renamed_project_is_found_by_its_new_name
        archived_project_keeps_its_archival_time_until_restored
        unchanged_project_name_writes_no_event
        only_active_owners_and_administrators_change_projects
        only_projects_of_the_organization_are_changed
        project_is_unchanged_when_event_cannot_be_written
        project_change_completes_after_caller_cancellation
    }
    project_member_cases {
        added_member_is_in_the_project_with_one_event
        removed_member_is_not_in_the_project
        owner_change_that_waits_is_dated_when_it_is_made
        unchanged_project_membership_writes_no_event
        pages_of_project_members_form_the_whole_list
        project_members_are_visible_within_their_organization_only
        batch_lookup_finds_which_members_are_in_a_project
        leaving_member_loses_all_projects_and_returns_without_them
        only_active_owners_and_administrators_change_project_members
        only_active_members_of_the_organization_join_its_projects
        project_members_are_unchanged_when_event_cannot_be_written
        project_member_change_completes_after_caller_cancellation
        member_leaving_during_addition_to_projects_is_in_none
        concurrent_additions_of_one_project_member_add_it_once
    }
    reachable_project_cases {
        consumer_reaches_its_own_projects_newest_first
        pages_of_reachable_projects_form_the_whole_list
        archived_project_is_unreachable_until_restored
        member_removed_from_a_project_cannot_reach_it
        former_member_reaches_nothing_and_returns_without_projects
        user_of_two_organizations_reaches_each_organizations_projects_separately
    }
    invitation_cases {
        invitation_reads_back_as_added
        unknown_digest_finds_no_invitation
        invitation_lookup_compares_every_byte_of_the_digest
        expired_invitation_is_still_found
        pending_invitations_are_listed_newest_first
        pages_of_pending_invitations_form_the_whole_list
        organization_has_a_maximum_number_of_open_invitations
        revoked_invitation_disappears_with_one_event
        accepted_invitation_cannot_be_revoked_in_store
        only_invitations_of_the_organization_are_revoked
        only_active_owners_and_administrators_invite
        invitation_is_unchanged_when_its_event_cannot_be_written
        invitation_change_completes_after_caller_cancellation
    }
    invitation_form_cases {
        invitation_form_creates_one_invitation_even_after_its_end
        two_organizations_may_use_the_same_idempotency_key
        form_state_is_hidden_from_callers_who_may_not_invite
        concurrent_submissions_of_one_form_create_one_invitation
    }
    accept_invitation_cases {
        newcomer_joins_with_account_and_membership
        user_joins_with_existing_account
        invitation_is_accepted_once
        invitation_is_accepted_until_it_expires
        revoked_or_unknown_invitation_is_not_accepted
        invitation_grants_no_other_organization_or_role
        newcomer_with_taken_username_is_refused
        member_cannot_join_again_and_invitation_stays_open
        returning_member_has_no_former_keys_or_projects
        closed_invitation_is_reported_before_other_errors
        joining_fails_when_its_events_cannot_be_written
        joining_completes_after_caller_cancellation
        concurrent_acceptances_of_one_invitation_admit_one_user
        concurrent_acceptances_by_one_user_create_one_membership
        concurrent_newcomers_with_one_username_admit_one
        concurrently_revoked_invitation_admits_no_user
    }
    inviter_cases {
        owners_invitations_are_revoked_on_removal_leaving_or_demotion
        removed_owner_cannot_return_with_own_invitation
        reinstated_owner_finds_old_invitations_revoked
        unrelated_invitations_remain_valid_after_an_owners_removal
        invitation_is_invalid_once_its_inviter_may_not_invite
        failed_membership_end_revokes_no_invitation
        open_invitations_of_a_user_are_counted
        open_invitations_created_by_others_are_counted
        invitation_admits_no_user_after_inviters_confirmed_removal_or_demotion
    }
    returning_member_cases {
        former_member_cannot_return_with_an_earlier_invitation
        invitation_between_two_memberships_is_refused_after_the_second
        later_invitation_admits_a_former_member
        unrelated_membership_end_invalidates_no_invitation
        earlier_invitation_is_reported_closed_even_to_a_member
        concurrent_joining_does_not_undo_a_removal
    }
    returning_member_clock_cases {
        invitation_made_right_after_the_end_admits_the_former_member
        invitation_after_removal_by_fast_clock_admits_the_former_member
        unrelated_ends_leave_an_invitations_creation_time_unchanged
        invitation_from_fast_clock_admits_no_member_ended_before_it
        ended_invitation_from_fast_clock_does_not_block_later_ones
    }
    default_key_right_cases {
        default_key_right_applies_to_keys_created_later
        default_key_right_change_writes_one_event
        only_active_owners_and_administrators_set_the_default_key_right
        default_key_right_is_per_organization
        default_key_right_is_unchanged_when_event_cannot_be_written
        default_key_right_change_completes_after_caller_cancellation
    }
    longest_life_cases {
        longest_life_applies_to_keys_created_later
        planned_end_is_not_put_off_beyond_the_longest_life
        successor_ends_after_the_longest_life
        longest_life_change_writes_one_event
        only_active_owners_and_administrators_limit_key_life
        longest_life_is_unchanged_when_event_cannot_be_written
    }
    applied_life_cases {
        applied_longest_life_ends_only_keys_that_would_outlive_it
        applied_longest_life_writes_one_event_for_each_key
        longest_life_is_applied_in_batches
        longest_life_is_applied_by_the_clock_under_the_lock
        owner_whose_end_came_meanwhile_applies_no_longest_life
        only_the_chosen_longest_life_is_applied
        only_active_owners_and_administrators_apply_the_longest_life
        longest_life_ends_no_key_when_events_cannot_be_written
        longest_life_preview_equals_what_is_applied
        longest_life_preview_shows_latest_used_keys_first
    }
    name_cases {
        every_subject_of_the_organization_has_a_name
        former_members_and_revoked_keys_keep_their_names
        names_of_other_organizations_subjects_are_not_returned
        subjects_without_name_are_omitted
        names_of_a_full_page_are_found_in_one_call
        subject_with_display_name_has_username_in_the_same_organizations
        keys_of_one_name_have_their_own_hints
        subject_of_any_kind_is_found_by_identifier
        removed_subject_is_found_by_identifier_in_the_log
        user_is_found_by_name_in_own_organizations_only
        users_are_found_across_organizations
    }
    last_use_cases {
        last_use_reads_back_as_recorded
        last_use_only_moves_forward
        last_use_of_a_clock_far_ahead_is_replaced
        batch_of_last_uses_records_each_for_its_key
        last_use_of_unknown_key_is_ignored
        last_use_changes_nothing_else_and_writes_no_event
        concurrent_last_uses_and_revocations_are_all_recorded
    }
    leaked_key_cases {
        leaked_keys_of_all_members_are_listed_for_owners
        no_member_hides_a_leaked_key_of_another
    }
    organization_key_cases {
        held_key_is_complete_except_for_its_exact_last_address
        keys_of_all_members_are_listed_newest_first_over_pages
        other_organizations_keys_are_neither_listed_nor_found
        key_batch_lookup_returns_each_organization_key_once
        keys_of_former_members_are_marked_as_not_working
        held_keys_are_filtered_by_state_and_holder
        held_keys_match_by_name_last_four_characters_and_holder
        held_keys_are_found_by_exact_name_or_hint
        valid_keys_are_filtered_by_inactivity
        key_tree_contains_all_ancestors_and_their_descendants
        key_tree_of_limited_depth_keeps_the_nearest_ancestors
        large_key_tree_shows_key_ancestors_and_valid_keys_first
        revocation_preview_equals_what_the_revocation_ends
        revocation_preview_of_many_keys_shows_the_first_by_name
        revocation_preview_lists_selected_keys_and_descendants_separately_by_name
    }
    revoke_descendants_cases {
        descendants_remain_valid_after_owner_revocation_unless_selected
        owner_revokes_a_long_chain_of_descendants_completely
    }
    audit_feed_cases {
        events_of_all_logs_are_read_in_commit_order
        continued_reading_neither_misses_nor_repeats_events
        positions_remain_valid_and_unique_after_event_removal
        unknown_positions_are_refused
        positions_are_found_by_event_after_import
        feed_misses_no_event_of_concurrent_writers
    }
    batch_revocation_cases {
        revoked_keys_store_all_details_with_one_event_each
        every_selection_revokes_only_its_valid_keys
        cutoff_time_selects_descendants_of_earlier_keys
        keys_are_revoked_in_batches_each_with_its_own_act
        every_batch_checks_the_actors_authority_again
        concurrent_batches_leave_no_key_valid
        keys_of_a_former_member_can_be_revoked
        other_organizations_keys_are_never_revoked
        only_owners_and_administrators_revoke_other_members_keys
        keys_are_not_revoked_when_events_cannot_be_written
        batch_revocation_completes_after_caller_cancellation
        concurrent_revocations_by_owner_and_holder_end_each_key_once
        no_child_survives_an_owners_revocation_of_its_key_tree
    }
}

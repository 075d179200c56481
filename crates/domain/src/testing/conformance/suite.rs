//! The list of all cases.

super::suite_macros::suite! { $
    keys {
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
            all_generations_are_revoked_if_asked_for
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
        concurrent_key_cases {
            of_many_concurrent_keys_only_as_many_as_the_limit_allows_are_added
            a_form_sent_many_times_at_once_creates_one_key
            many_concurrent_revocations_of_one_key_write_one_event
            no_child_outlives_a_concurrent_revocation_with_descendants
            a_key_changes_nothing_once_its_concurrent_revocation_is_answered
            concurrent_revocations_of_one_family_write_one_event_per_key
        }
        credential_cases {
            a_credential_holds_every_fact_about_the_caller
            an_unknown_digest_has_no_credential
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
    sign_in {
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
    administration {
        list_member_cases {
            members_are_listed_who_joined_last_first
            pages_of_members_add_up_to_the_whole_list
            only_live_members_of_the_organization_are_listed
            a_member_is_found_in_their_organization_only
            a_member_is_shown_with_the_number_of_their_valid_keys
            a_search_for_members_reads_usernames_and_display_names
            a_search_for_members_finds_those_of_the_version_before_by_username
            wildcards_and_quotes_in_a_search_for_members_are_literal
            a_search_for_members_goes_on_over_pages
        }
        change_role_cases {
            a_changed_role_reads_back_and_is_told
            a_role_that_stays_writes_no_event
            the_last_owner_stays_owner
            an_organization_of_two_owners_has_not_one_owner_until_one_is_left
            roles_are_changed_by_live_owners_and_administrators_only
            only_live_members_of_the_organization_get_another_role
            a_role_whose_event_cannot_be_written_stays
            a_role_is_changed_in_full_even_if_the_caller_stops_waiting
        }
        end_membership_cases {
            whoever_was_removed_is_no_member_and_none_of_their_keys_is_accepted
            other_memberships_and_their_keys_outlive_the_end_of_one
            a_member_may_leave_whatever_their_role
            the_last_owner_neither_leaves_nor_is_removed
            memberships_are_ended_by_owners_administrators_and_the_member_only
            only_a_live_membership_of_the_organization_is_ended
            a_membership_whose_end_cannot_be_written_goes_on
            a_membership_ends_in_full_even_if_the_caller_stops_waiting
        }
        concurrent_member_cases {
            of_two_owners_who_remove_each_other_at_once_one_is_removed
            of_two_owners_who_demote_each_other_at_once_one_stays_owner
            of_two_owners_who_leave_at_once_one_stays
            of_many_owners_who_leave_or_step_down_at_once_one_stays_owner
            a_membership_that_is_ended_many_times_at_once_ends_once
            no_key_gets_in_once_the_end_of_the_membership_is_answered
        }
        list_project_cases {
            a_project_reads_back_as_it_was_added
            a_project_is_found_in_its_organization_only
            projects_are_listed_newest_first_and_by_status
            pages_of_projects_add_up_to_the_whole_list
            a_search_finds_projects_by_their_names_literally
            projects_are_created_by_live_owners_and_administrators_only
            a_project_whose_event_cannot_be_written_is_not_added
            a_project_is_added_in_full_even_if_the_caller_stops_waiting
        }
        change_project_cases {
            a_renamed_project_is_found_by_its_new_name
            an_archived_project_keeps_its_moment_until_it_is_restored
            a_project_that_is_called_so_already_writes_no_event
            projects_are_changed_by_live_owners_and_administrators_only
            only_projects_of_the_organization_are_changed
            a_project_whose_change_cannot_be_written_stays
            a_project_is_changed_in_full_even_if_the_caller_stops_waiting
        }
        project_member_cases {
            a_member_who_is_added_is_in_the_project_and_told
            a_member_who_is_taken_out_is_not_in_the_project
            what_is_so_already_writes_no_event
            pages_of_project_members_add_up_to_the_whole_list
            a_project_shows_its_members_to_its_organization_only
            of_many_members_those_that_are_in_a_project_are_found_at_once
            whoever_leaves_is_taken_out_of_all_projects_and_comes_back_without
            project_members_are_changed_by_live_owners_and_administrators_only
            only_live_members_of_the_organization_are_in_its_projects
            project_members_whose_event_cannot_be_written_stay
            project_members_are_changed_in_full_even_if_the_caller_stops_waiting
            whoever_leaves_while_they_are_added_to_projects_is_in_none
            a_member_who_is_added_many_times_at_once_is_added_once
        }
        reachable_project_cases {
            a_consumer_reaches_the_projects_it_is_a_member_of_newest_first
            pages_of_reached_projects_add_up_to_the_whole_list
            an_archived_project_is_not_reached_until_it_is_restored
            whoever_was_taken_out_of_a_project_does_not_reach_it
            whoever_left_reaches_nothing_and_begins_anew_without_projects
            a_user_of_two_organizations_reaches_the_projects_of_each_by_itself
        }
        invitation_cases {
            an_invitation_reads_back_as_it_was_added
            an_unknown_digest_leads_to_no_invitation
            an_expired_invitation_is_still_found
            invitations_that_have_not_ended_are_pending_newest_first
            pages_of_pending_invitations_add_up_to_the_whole_list
            an_invitation_that_was_taken_back_is_gone_and_told_once
            an_accepted_invitation_is_not_taken_back
            only_invitations_of_the_organization_are_taken_back
            inviting_is_for_live_owners_and_administrators_only
            an_invitation_whose_event_cannot_be_written_stays_as_it_is
            invitations_change_in_full_even_if_the_caller_stops_waiting
        }
        invitation_form_cases {
            a_form_invites_once_whatever_becomes_of_the_invitation
            two_organizations_may_send_the_same_nonce
            who_may_not_invite_learns_nothing_of_a_form
            a_form_sent_many_times_at_once_invites_once
        }
        accept_invitation_cases {
            a_newcomer_joins_with_an_account_and_a_membership
            a_user_joins_with_the_account_they_have
            an_invitation_is_accepted_once
            an_invitation_is_accepted_until_it_expires
            an_invitation_that_was_taken_back_or_never_given_is_not_accepted
            an_invitation_makes_nobody_what_it_does_not_say
            a_newcomer_needs_a_username_of_their_own
            a_member_joins_no_second_time_and_the_invitation_stays_open
            whoever_left_joins_anew_without_keys_or_projects
            a_dead_invitation_is_told_before_anything_else
            a_joining_whose_events_cannot_be_written_does_not_happen
            a_joining_happens_in_full_even_if_the_caller_stops_waiting
            of_many_who_accept_one_invitation_at_once_one_joins
            a_user_who_accepts_many_invitations_at_once_joins_once
            of_many_newcomers_with_one_username_one_joins
            nobody_joins_once_the_invitation_was_taken_back
        }
        inviter_cases {
            the_invitations_of_an_owner_who_is_removed_leaves_or_is_demoted_are_taken_back
            an_owner_who_was_removed_does_not_come_back_with_their_own_invitation
            an_owner_who_is_one_again_finds_their_old_invitations_taken_back
            other_invitations_outlive_the_end_of_an_owner
            an_invitation_is_neither_found_nor_accepted_once_its_inviter_may_not_invite
            an_end_that_cannot_be_written_takes_no_invitation_back
            the_open_invitations_of_a_user_are_counted
            the_open_invitations_that_others_have_made_are_counted
            nobody_joins_once_the_end_of_the_inviter_is_answered
        }
        return_cases {
            whoever_left_or_was_removed_does_not_come_back_with_an_invitation_from_before
            an_invitation_of_the_moment_of_the_end_brings_nobody_back
            an_invitation_of_a_clock_that_is_ahead_brings_back_nobody_whose_stay_one_behind_ended
            an_invitation_of_a_clock_that_is_ahead_holds_nobody_back_once_it_has_ended
            an_invitation_from_between_two_stays_does_not_bring_back_from_the_second
            a_later_invitation_brings_back_whoever_left
            what_ended_elsewhere_or_for_somebody_else_stops_no_invitation
            an_invitation_from_before_is_told_as_dead_even_to_a_member
            nobody_outlives_their_removal_by_joining_at_the_same_time
        }
        new_key_choice_cases {
            a_choice_for_new_keys_holds_for_keys_from_then_on
            a_choice_for_new_keys_is_told_once
            new_keys_are_chosen_for_by_live_owners_and_administrators_only
            a_choice_for_new_keys_stays_within_its_organization
            a_choice_for_new_keys_whose_event_cannot_be_written_is_not_made
            a_choice_for_new_keys_is_made_in_full_even_if_the_caller_stops_waiting
        }
        name_cases {
            everything_of_the_organization_has_its_name
            former_members_and_revoked_keys_keep_their_names
            nothing_of_another_organization_has_a_name
            what_has_no_name_is_left_out
            a_page_of_names_is_found_at_once
            whoever_has_a_display_name_has_a_username_in_the_same_organizations
            a_user_is_found_by_name_in_their_own_organizations_only
            users_are_found_whatever_organization_they_are_in
        }
        last_use_cases {
            a_last_use_reads_back_as_it_was_recorded
            a_last_use_only_moves_forward
            many_last_uses_are_recorded_at_once_and_each_for_its_key
            the_use_of_an_unknown_key_is_passed_over
            a_last_use_changes_nothing_else_and_writes_no_event
            last_uses_that_are_recorded_at_once_with_others_and_with_revocations_all_arrive
        }
        organization_key_cases {
            a_held_key_is_whole_but_for_where_exactly_it_was_used
            the_keys_of_all_members_are_listed_newest_first_over_pages
            another_organizations_keys_are_neither_listed_nor_found
            of_many_keys_those_of_the_organization_are_found_each_once
            keys_of_former_members_are_told_from_those_that_work
            held_keys_are_listed_by_state_and_holder
            held_keys_are_found_by_name_last_four_and_holder
            valid_keys_that_nobody_used_for_long_are_found
            a_family_is_all_ancestors_and_all_that_came_from_them
            of_many_ancestors_the_nearest_are_in_the_family
            of_a_large_family_the_key_its_line_and_what_is_valid_come_first
            what_is_at_stake_is_what_a_revocation_ends
            of_many_keys_at_stake_the_first_by_name_are_shown
            of_selected_keys_and_of_what_came_from_them_the_first_by_name_are_shown_apart
        }
        audit_feed_cases {
            events_of_every_log_are_read_in_the_order_of_their_commits
            reading_on_misses_and_repeats_no_event
            positions_outlive_their_events_and_numbers_are_not_used_again
            positions_that_the_log_never_gave_are_refused
            positions_are_found_by_their_event_after_a_move
            a_reader_misses_no_event_of_many_concurrent_writers
        }
        revoke_many_cases {
            revoked_keys_keep_moment_actor_reason_and_note_and_have_an_event_each
            every_selection_revokes_its_valid_keys_and_no_others
            many_keys_are_revoked_portion_by_portion_each_with_its_act
            every_portion_asks_anew_whether_who_acts_still_may
            portions_that_many_revoke_at_once_leave_no_key
            keys_of_a_former_member_can_be_revoked
            another_organizations_keys_are_never_revoked
            keys_of_others_are_revoked_by_owners_and_administrators_only
            keys_whose_events_cannot_be_written_are_not_revoked
            keys_are_revoked_in_full_even_if_the_caller_stops_waiting
            concurrent_revocations_by_owner_and_holder_end_every_key_once
            no_child_outlives_the_revocation_of_its_family_by_an_owner
        }
    }
    retention {
        dead_key_cases {
            keys_go_once_they_are_dead_for_long_enough
            keys_of_a_membership_that_ended_go_with_time
            what_is_removed_at_once_has_a_limit
            a_removed_key_is_nowhere_and_its_events_stay
            keys_that_are_removed_many_times_at_once_are_counted_once
            dead_keys_are_removed_in_full_even_if_the_caller_stops_waiting
        }
        kept_family_cases {
            what_came_from_a_removed_key_stays_in_the_family_above_it
            a_family_of_which_the_first_key_was_removed_stays_one_below_each_of_its_children
            nobody_is_adopted_by_a_key_that_went_before
            a_line_of_keys_keeps_its_ends_together_however_its_middle_is_removed
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
}

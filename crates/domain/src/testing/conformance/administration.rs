//! What the ports of running an organization promise.

mod accept_invitation_cases;
mod audit_feed_cases;
mod change_project_cases;
mod change_role_cases;
mod concurrent_member_cases;
mod end_membership_cases;
mod former_owner_cases;
mod invitation_cases;
mod invitation_form_cases;
mod inviter_cases;
mod key_scene;
mod last_use_cases;
mod leaving_holder_cases;
mod leaving_preview_cases;
mod list_member_cases;
mod list_project_cases;
mod long_list_cases;
mod name_cases;
mod new_key_choice_cases;
mod organization_key_cases;
mod planned_end_cases;
mod project_member_cases;
mod reachable_project_cases;
mod recorded_end_cases;
mod return_cases;
mod revoke_generations_cases;
mod revoke_many_cases;
mod scene;

super::cases::cases! { $
    /// Each case of the ports of running an organization by itself: an async function that takes fresh [`Stores`](super::Stores)
    /// and panics if the store breaks the promise that the function is named for.
    administration_cases(Stores), administration_tests
    planned_end_cases {
        members_are_shown_until_their_planned_end
        a_member_is_in_projects_until_the_planned_end
        an_owner_runs_the_organization_until_the_planned_end
        a_membership_whose_end_is_planned_can_be_ended_before
        whoever_left_by_plan_comes_back_with_a_later_invitation
        owners_see_keys_as_valid_until_their_planned_end
        previews_take_planned_ends_by_their_moment
        of_a_large_family_keys_come_first_until_their_planned_end
        owners_revoke_keys_until_their_planned_end
    }
    recorded_end_cases {
        an_end_is_due_from_its_moment_until_it_is_recorded
        a_recorded_end_of_a_key_stays_as_planned_and_has_one_event
        the_recorded_end_of_a_membership_takes_back_open_invitations
        a_batch_of_recorded_ends_has_a_limit
        ends_that_many_record_at_once_are_recorded_once
        an_end_whose_event_cannot_be_written_is_not_recorded
        ends_are_recorded_in_full_even_if_the_caller_stops_waiting
        who_returns_has_no_invitations_open_from_before_a_planned_end
        ending_a_membership_whose_planned_end_has_come_records_that_end
        owners_record_planned_ends_of_selected_keys_that_have_come
    }
    list_member_cases {
        members_are_listed_who_joined_last_first
        pages_of_members_add_up_to_the_whole_list
        only_live_members_of_the_organization_are_listed
        a_member_is_found_in_their_organization_only
        a_live_member_is_identified_by_membership_or_whole_username
        a_member_is_shown_with_the_number_of_their_valid_keys
        a_search_for_members_reads_usernames_and_display_names
        a_search_for_members_finds_those_of_the_version_before_by_username
        wildcards_and_quotes_in_a_search_for_members_are_literal
        a_search_for_members_goes_on_over_pages
    }
    leaving_preview_cases {
        a_preview_counts_valid_keys_and_those_used_recently
        a_preview_shows_the_50_keys_that_were_used_last
    }
    change_role_cases {
        a_changed_role_reads_back_and_is_told
        a_role_that_stays_writes_no_event
        the_last_owner_stays_owner
        the_last_owner_without_a_planned_end_stays_owner
        an_owner_is_not_the_last_while_there_is_another
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
    }
    leaving_holder_cases {
        no_key_gets_in_once_the_end_of_the_membership_is_answered
        no_key_is_changed_once_the_end_of_the_membership_is_answered
        no_key_revokes_another_once_the_end_of_the_membership_is_answered
    }
    former_owner_cases {
        an_owner_revokes_no_key_once_their_end_is_answered
        an_owner_adds_no_project_once_their_end_is_answered
    }
    long_list_cases {
        a_list_of_members_goes_on_beyond_a_hundred
        a_list_of_project_members_goes_on_beyond_a_hundred
        a_list_of_projects_goes_on_beyond_a_hundred
        a_list_of_reached_projects_goes_on_beyond_a_hundred
        a_list_of_invitations_goes_on_beyond_a_hundred
        a_list_of_an_organizations_keys_goes_on_beyond_a_hundred
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
        an_invitation_is_found_by_every_byte_of_its_digest
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
        what_has_an_identifier_is_found_whatever_it_is
        what_is_gone_is_found_by_the_identifier_in_the_log
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
    revoke_generations_cases {
        descendants_survive_owners_unless_selected
        a_long_line_is_revoked_to_its_end_by_an_owner
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

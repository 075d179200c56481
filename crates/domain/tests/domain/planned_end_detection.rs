//! The conformance suite fails for stores that take planned ends, or the longest life, wrongly.

use keyward_domain::audit::Action;

use crate::broken_store::{Fault, List, assert_caught, assert_fails, caught};

caught! {
    key_that_extends_itself_is_detected: Fault::LetsKeysExtendThemselves => [
        "key_extends_itself_in_no_store",
    ];
    judging_by_the_beginning_of_an_act_is_detected: Fault::UsesStartTimeOfAct => [
        "edit_that_began_before_an_end_comes_too_late",
        "planned_end_that_passed_meanwhile_is_not_set",
        "key_whose_parent_ended_meanwhile_is_not_added",
        "rotation_that_began_before_an_end_comes_too_late",
        "longest_life_is_applied_by_the_clock_under_the_lock",
        "owner_whose_end_came_meanwhile_applies_no_longest_life",
        "member_end_that_came_meanwhile_is_final",
        "owner_whose_end_came_meanwhile_plans_no_end",
        "owner_change_that_waits_is_dated_when_it_is_made",
    ];
    list_that_ignores_planned_ends_is_detected: Fault::IgnoresPlannedEndFilter => [
        "list_filters_by_planned_end",
        "owners_list_filters_by_planned_end",
    ];
    forgotten_event_of_a_changed_planned_end_is_detected: Fault::OmitsEventsOf(Action::ChangeExpiry) => [
        "planned_end_is_set_moved_and_removed",
        "unchanged_planned_end_writes_no_event",
        "key_extends_itself_in_no_store",
    ];
    edit_hidden_behind_a_new_planned_end_is_detected: Fault::OmitsEditEventIfEndChanges => [
        "edit_of_name_and_end_writes_an_event_for_each",
    ];
    a_batch_of_ends_without_limit_is_caught: Fault::RecordsEndsWithoutLimit => [
        "a_batch_of_recorded_ends_has_a_limit",
    ];
    owner_with_planned_end_counted_as_permanent_is_caught: Fault::CountsOwnersWithPlannedEnds => [
        "the_last_owner_without_a_planned_end_stays_owner",
    ];
}

#[tokio::test]
async fn wrong_application_of_longest_life_is_detected() {
    for (fault, by) in [
        (
            Fault::AppliesChangedLongestLife,
            "only_the_chosen_longest_life_is_applied",
        ),
        (
            Fault::RestartsLongestLifeAtFirstKey,
            "longest_life_is_applied_in_batches",
        ),
        (
            Fault::ShortensKeysWithoutLimit,
            "longest_life_is_applied_in_batches",
        ),
        (
            Fault::SortsShortenedKeysByName,
            "longest_life_preview_shows_latest_used_keys_first",
        ),
        (
            Fault::IgnoresLongestLifeFilter,
            "longest_life_preview_equals_what_is_applied",
        ),
        (
            Fault::OmitsEventsOf(Action::ChangeExpiry),
            "applied_longest_life_writes_one_event_for_each_key",
        ),
    ] {
        assert_fails(fault, &[by]).await;
    }
}

#[tokio::test]
async fn queries_ignoring_the_given_time_are_detected() {
    for (list, by) in [
        (
            List::Keys,
            &[
                "key_is_listed_as_valid_until_its_planned_end",
                "descendants_are_valid_until_their_planned_end",
            ][..],
        ),
        (
            List::OrganizationKeys,
            &[
                "owners_see_keys_as_valid_until_their_planned_end",
                "previews_apply_planned_ends_at_the_given_time",
                "large_key_tree_shows_keys_first_until_their_planned_end",
            ],
        ),
        (
            List::Members,
            &[
                "members_are_listed_until_their_planned_end",
                "previews_apply_planned_ends_at_the_given_time",
            ],
        ),
        (
            List::Projects,
            &["member_stays_in_projects_until_the_planned_end"],
        ),
        (
            List::ReachableProjects,
            &["member_stays_in_projects_until_the_planned_end"],
        ),
    ] {
        assert_caught(Fault::TreatsPlannedEndsAsFuture(list), by).await;
        assert_caught(Fault::TreatsPlannedEndsAsPast(list), by).await;
    }
}

#[tokio::test]
async fn credentials_ignoring_planned_ends_are_detected() {
    let by = [
        "key_is_accepted_until_its_planned_end",
        "keys_are_accepted_until_their_memberships_planned_end",
    ];
    assert_caught(Fault::AcceptsKeysBeyondTheirPlannedEnd, &by).await;
    assert_caught(Fault::RefusesKeysBeforeTheirPlannedEnd, &by).await;
}

#[tokio::test]
async fn due_ends_that_are_not_recorded_are_caught() {
    for (fault, by) in [
        (
            Fault::LeavesDueEndsOfRevokedKeys,
            "revoking_an_elapsed_key_records_its_planned_end",
        ),
        (
            Fault::OwnersLeaveDueEndsOfRevokedKeys,
            "owners_record_planned_ends_of_selected_keys_that_have_come",
        ),
        (
            Fault::StopsRevokingBeforeDueEnds,
            "a_revocation_goes_on_until_no_selected_end_is_due",
        ),
        (
            Fault::LeavesDueEndsOfRemovedMembers,
            "ending_an_elapsed_membership_records_its_planned_end",
        ),
        (
            Fault::RecordsEndsOfKeysOnly,
            "end_is_due_from_its_moment_until_recorded",
        ),
        (
            Fault::OmitsEventsOf(Action::ExpireApiKey),
            "recorded_key_end_keeps_its_plan_and_has_one_event",
        ),
        (
            Fault::OmitsEventsOf(Action::ExpireMembership),
            "the_recorded_end_of_a_membership_revokes_open_invitations",
        ),
    ] {
        assert_caught(fault, &[by]).await;
    }
}

#[tokio::test]
async fn invitations_that_outlive_a_recorded_end_are_caught() {
    for (fault, by) in [
        (
            Fault::KeepsInvitationsAtRecordedEnds,
            "the_recorded_end_of_a_membership_revokes_open_invitations",
        ),
        (
            Fault::KeepsInvitationsAtReturn,
            "returning_member_has_no_invitations_from_before_planned_end",
        ),
    ] {
        assert_caught(fault, &[by]).await;
    }
}

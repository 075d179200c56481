//! The conformance suite can fail: a store with a fault breaks the cases that are there for it, and few others.

use keyward_domain::audit::Action;

use crate::broken_store::{Fault, List, Secret, assert_caught, assert_fails, failed};

#[tokio::test]
async fn a_store_without_a_fault_fails_nothing() {
    assert_eq!(failed(Fault::None).await, [""; 0]);
}

#[tokio::test]
async fn finding_another_consumers_key_is_caught() {
    let by = [
        "another_consumers_key_is_not_found",
        "a_key_of_the_same_users_other_membership_is_not_found",
        "of_many_keys_the_consumers_own_are_found_each_once",
    ];
    assert_caught(Fault::FindsAnyConsumersKey, &by).await;
}

#[tokio::test]
async fn revoking_another_consumers_key_is_caught() {
    let by = ["another_consumers_key_cannot_be_revoked"];
    assert_caught(Fault::RevokesAnyConsumersKey, &by).await;
}

#[tokio::test]
async fn a_forgotten_event_is_caught() {
    for (action, by) in [
        (Action::CreateApiKey, "adding_a_key_writes_its_event"),
        (Action::EditApiKey, "an_edit_writes_its_event"),
        (Action::RevokeApiKey, "each_revoked_key_has_its_own_event"),
        (Action::SignIn, "starting_a_session_writes_its_event"),
    ] {
        assert_fails(Fault::ForgetsEventsOf(action), &[by]).await;
    }
}

#[tokio::test]
async fn an_event_too_many_is_caught() {
    let by = ["an_edit_that_changes_nothing_writes_no_event"];
    assert_caught(Fault::TellsOfEditsThatChangeNothing, &by).await;
}

#[tokio::test]
async fn a_limit_that_is_not_checked_in_the_transaction_is_caught() {
    let by = ["of_many_concurrent_keys_only_as_many_as_the_limit_allows_are_added"];
    assert_caught(Fault::CountsKeysBeforeTheTransaction, &by).await;
}

#[tokio::test]
async fn the_wrong_order_of_checks_is_caught() {
    let by = [
        "a_repeated_form_is_told_before_the_limit",
        "a_gone_holder_is_told_before_the_limit",
    ];
    assert_caught(Fault::ChecksTheLimitFirst, &by).await;
}

#[tokio::test]
async fn a_rate_that_edits_evade_is_caught() {
    let by = [
        "an_edit_that_changes_nothing_counts",
        "creating_and_editing_keys_count_for_one_consumer",
    ];
    assert_caught(Fault::CountsNoEdits, &by).await;
}

#[tokio::test]
async fn a_rate_that_is_not_checked_in_the_transaction_is_caught() {
    let by = ["concurrent_changes_let_exactly_the_burst_through"];
    assert_caught(Fault::ReadsTheRateBeforeTheTransaction, &by).await;
}

#[tokio::test]
async fn an_edit_that_undoes_another_is_caught() {
    let by = ["concurrent_edits_keep_each_others_fields"];
    assert_caught(Fault::WritesBackTheWholeKey, &by).await;
}

#[tokio::test]
async fn a_revoked_key_that_acts_is_caught() {
    let by = [
        "a_key_that_was_revoked_edits_no_other",
        "a_key_that_was_revoked_revokes_no_other",
        "a_key_changes_nothing_once_its_concurrent_revocation_is_answered",
        "a_key_revokes_no_key_once_its_concurrent_revocation_is_answered",
    ];
    assert_caught(Fault::LetsRevokedKeysAct, &by).await;
}

#[tokio::test]
async fn a_key_that_manages_keys_without_the_right_is_caught() {
    let by = [
        "a_key_that_may_not_manage_keys_creates_none",
        "a_key_that_may_not_manage_keys_edits_only_itself",
        "a_key_that_may_not_manage_keys_revokes_only_itself",
    ];
    assert_caught(Fault::LetsEveryKeyManageKeys, &by).await;
}

#[tokio::test]
async fn a_key_that_acts_after_its_concurrent_revocation_is_caught() {
    for (fault, by) in [
        (
            Fault::ChecksWhoAddsBeforeTheTransaction,
            "a_key_adds_no_key_once_its_concurrent_revocation_is_answered",
        ),
        (
            Fault::ChecksWhoEditsBeforeTheTransaction,
            "a_key_changes_nothing_once_its_concurrent_revocation_is_answered",
        ),
        (
            Fault::ChecksWhoRevokesBeforeTheTransaction,
            "a_key_revokes_no_key_once_its_concurrent_revocation_is_answered",
        ),
    ] {
        assert_caught(fault, &[by]).await;
    }
}

#[tokio::test]
async fn a_member_who_acts_after_their_concurrent_end_is_caught() {
    for (fault, by) in [
        (
            Fault::ChecksMembersWhoAddBeforeTheTransaction,
            "no_key_gets_in_once_the_end_of_the_membership_is_answered",
        ),
        (
            Fault::ChecksMembersWhoEditBeforeTheTransaction,
            "no_key_is_changed_once_the_end_of_the_membership_is_answered",
        ),
        (
            Fault::ChecksWhoRevokesBeforeTheTransaction,
            "no_key_revokes_another_once_the_end_of_the_membership_is_answered",
        ),
    ] {
        assert_caught(fault, &[by]).await;
    }
}

#[tokio::test]
async fn an_owner_who_acts_after_their_concurrent_end_is_caught() {
    for (fault, by) in [
        (
            Fault::ChecksOwnersWhoRevokeBeforeTheTransaction,
            "an_owner_revokes_no_key_once_their_end_is_answered",
        ),
        (
            Fault::ChecksOwnersWhoAddProjectsBeforeTheTransaction,
            "an_owner_adds_no_project_once_their_end_is_answered",
        ),
    ] {
        assert_caught(fault, &[by]).await;
    }
}

#[tokio::test]
async fn a_revocation_that_misses_a_new_child_is_caught() {
    let by = ["no_child_outlives_a_concurrent_revocation_with_descendants"];
    assert_caught(Fault::LooksForDescendantsBeforeTheTransaction, &by).await;
}

#[tokio::test]
async fn a_revocation_of_the_wrong_generations_is_caught() {
    for (fault, by) in [
        (
            Fault::KeepsGreatGrandchildren,
            "a_long_line_of_descendants_is_revoked_to_its_end",
        ),
        (
            Fault::OwnersRevokeGrandchildrenUnasked,
            "descendants_survive_owners_unless_selected",
        ),
        (
            Fault::OwnersKeepGreatGrandchildren,
            "a_long_line_is_revoked_to_its_end_by_an_owner",
        ),
    ] {
        assert_caught(fault, &[by]).await;
    }
    let by = ["every_generation_survives_unless_asked_for"];
    assert_fails(Fault::RevokesGrandchildrenUnasked, &by).await;
}

#[tokio::test]
async fn a_store_that_takes_every_version_is_caught() {
    let by = [
        "of_two_edits_of_one_version_the_second_is_refused",
        "an_edit_may_name_several_versions_or_none",
        "a_revocation_of_another_version_revokes_nothing",
        "a_repeated_revocation_succeeds_whatever_the_version",
    ];
    assert_caught(Fault::TakesEveryVersion, &by).await;
}

#[tokio::test]
async fn versions_that_are_compared_before_the_transaction_are_caught() {
    let by = [
        "of_many_concurrent_edits_of_one_version_one_happens",
        "an_edit_and_a_revocation_of_one_version_do_not_both_happen",
        // A key that is revoked already needs none.
        "a_repeated_revocation_succeeds_whatever_the_version",
        "who_acts_and_the_keys_state_are_told_before_its_version",
    ];
    assert_caught(Fault::ComparesVersionsBeforeTheTransaction, &by).await;
}

#[tokio::test]
async fn a_wildcard_in_a_search_is_caught() {
    let by = ["wildcards_and_quotes_in_a_search_are_literal"];
    assert_caught(Fault::TakesPercentSignsForWildcards, &by).await;
}

#[tokio::test]
async fn finding_a_member_by_the_beginning_of_a_username_is_caught() {
    let by = ["a_live_member_is_identified_by_membership_or_whole_username"];
    assert_caught(Fault::TakesTheBeginningOfUsernames, &by).await;
}

#[tokio::test]
async fn credentials_answered_from_memory_are_caught() {
    let by = ["credentials_tell_at_once_when_their_membership_has_ended"];
    assert_caught(Fault::RemembersCredentials, &by).await;
}

#[tokio::test]
async fn a_digest_that_is_compared_in_part_is_caught() {
    let token = "a_credential_is_found_by_every_byte_of_its_digest";
    for (bytes, secret, by) in [
        (4, Secret::Token, token),
        (8, Secret::Token, token),
        (31, Secret::Token, token),
        (
            31,
            Secret::Session,
            "a_session_is_found_by_every_byte_of_its_digest",
        ),
        (
            31,
            Secret::Invitation,
            "an_invitation_is_found_by_every_byte_of_its_digest",
        ),
        (31, Secret::SetupLink, "a_link_works_by_every_byte_of_its_digest"),
    ] {
        assert_caught(Fault::ComparesDigestsByTheirFirst(bytes, secret), &[by]).await;
    }
}

#[tokio::test]
async fn a_project_that_is_reached_by_its_identifier_alone_is_caught() {
    let by = [
        "a_consumer_reaches_the_projects_it_is_a_member_of_newest_first",
        "an_archived_project_is_not_reached_until_it_is_restored",
        "whoever_left_reaches_nothing_and_begins_anew_without_projects",
    ];
    assert_caught(Fault::ReachesEveryProject, &by).await;
}

#[tokio::test]
async fn a_throttle_that_is_not_atomic_is_caught() {
    let by = ["concurrent_attempts_pass_no_more_often_than_one_after_the_other"];
    assert_caught(Fault::ReadsTheThrottleBeforeTheTransaction, &by).await;
}

#[tokio::test]
async fn a_throttle_that_takes_before_it_refuses_is_caught() {
    let by = ["an_attempt_is_taken_from_all_buckets_or_from_none"];
    assert_caught(Fault::TakesFromTheBucketsBeforeAFullOne, &by).await;
}

#[tokio::test]
async fn a_list_that_is_cut_at_a_hundred_is_caught() {
    for (list, by) in [
        (List::Keys, "a_list_of_keys_goes_on_beyond_a_hundred"),
        (List::Events, "the_log_goes_on_beyond_a_hundred_events"),
        (List::Members, "a_list_of_members_goes_on_beyond_a_hundred"),
        (List::Projects, "a_list_of_projects_goes_on_beyond_a_hundred"),
        (
            List::ProjectMembers,
            "a_list_of_project_members_goes_on_beyond_a_hundred",
        ),
        (
            List::Invitations,
            "a_list_of_invitations_goes_on_beyond_a_hundred",
        ),
        (
            List::OrganizationKeys,
            "a_list_of_an_organizations_keys_goes_on_beyond_a_hundred",
        ),
        (
            List::ReachableProjects,
            "a_list_of_reached_projects_goes_on_beyond_a_hundred",
        ),
    ] {
        assert_caught(Fault::CutsPagesAt100(list), &[by]).await;
    }
}

#[tokio::test]
async fn a_list_with_a_filter_that_is_cut_at_a_hundred_is_caught() {
    for (list, by) in [
        (List::Keys, "a_list_of_keys_goes_on_beyond_a_hundred"),
        (List::Events, "the_log_goes_on_beyond_a_hundred_events"),
        (List::Members, "a_list_of_members_goes_on_beyond_a_hundred"),
        (List::Projects, "a_list_of_projects_goes_on_beyond_a_hundred"),
        (
            List::OrganizationKeys,
            "a_list_of_an_organizations_keys_goes_on_beyond_a_hundred",
        ),
    ] {
        assert_caught(Fault::CutsFilteredPagesAt100(list), &[by]).await;
    }
}

/// Without an end of its own, a case would ask for the same page for ever.
#[tokio::test]
async fn pages_that_never_lead_on_are_caught() {
    for (list, by) in [
        (List::Keys, "pages_of_every_size_add_up_to_the_whole_list"),
        (List::Events, "pages_of_events_add_up_to_the_whole_log"),
        (List::Members, "pages_of_members_add_up_to_the_whole_list"),
        (List::Projects, "pages_of_projects_add_up_to_the_whole_list"),
        (
            List::ProjectMembers,
            "pages_of_project_members_add_up_to_the_whole_list",
        ),
        (
            List::Invitations,
            "pages_of_pending_invitations_add_up_to_the_whole_list",
        ),
        (
            List::OrganizationKeys,
            "the_keys_of_all_members_are_listed_newest_first_over_pages",
        ),
        (
            List::ReachableProjects,
            "pages_of_reached_projects_add_up_to_the_whole_list",
        ),
        (List::Feed, "reading_on_misses_and_repeats_no_event"),
        (List::Feed, "a_reader_misses_no_event_of_many_concurrent_writers"),
    ] {
        assert_fails(Fault::NeverLeadsOn(list), &[by]).await;
    }
}

#[tokio::test]
async fn audit_feed_that_misses_or_mistakes_events_is_caught() {
    for (fault, by) in [
        (
            Fault::TakesUnknownPositions,
            "positions_that_the_log_never_gave_are_refused",
        ),
        (
            Fault::FindsPositionsByTheirNumbers,
            "positions_are_found_by_their_event_after_a_move",
        ),
        (
            Fault::FeedsTheInstallationsLogOnly,
            "events_of_every_log_are_read_in_the_order_of_their_commits",
        ),
        (
            Fault::SkipsTheEventAfterAPosition,
            "reading_on_misses_and_repeats_no_event",
        ),
        (
            Fault::ForgetsWhichNumbersWereRemoved,
            "positions_outlive_their_events_and_numbers_are_not_used_again",
        ),
        (
            Fault::FeedsAheadOfLowerNumbers,
            "a_reader_misses_no_event_of_many_concurrent_writers",
        ),
    ] {
        assert_caught(fault, &[by]).await;
    }
}

#[tokio::test]
async fn questions_that_ignore_their_moment_are_caught() {
    for (list, by) in [
        (
            List::Keys,
            &[
                "a_key_is_listed_as_valid_until_its_planned_end",
                "descendants_are_valid_until_their_planned_end",
            ][..],
        ),
        (
            List::OrganizationKeys,
            &[
                "owners_see_keys_as_valid_until_their_planned_end",
                "previews_take_planned_ends_by_their_moment",
                "of_a_large_family_keys_come_first_until_their_planned_end",
            ],
        ),
        (
            List::Members,
            &[
                "members_are_shown_until_their_planned_end",
                "previews_take_planned_ends_by_their_moment",
            ],
        ),
        (List::Projects, &["a_member_is_in_projects_until_the_planned_end"]),
        (
            List::ReachableProjects,
            &["a_member_is_in_projects_until_the_planned_end"],
        ),
    ] {
        assert_caught(Fault::NeverSeesPlannedEndsCome(list), by).await;
        assert_caught(Fault::TakesPlannedEndsForCome(list), by).await;
    }
}

#[tokio::test]
async fn credentials_without_planned_ends_are_caught() {
    let by = [
        "a_key_is_accepted_until_its_planned_end",
        "keys_are_accepted_until_the_planned_end_of_their_membership",
    ];
    assert_caught(Fault::AcceptsKeysBeyondTheirPlannedEnd, &by).await;
    assert_caught(Fault::RefusesKeysBeforeTheirPlannedEnd, &by).await;
}

#[tokio::test]
async fn due_ends_that_are_not_recorded_are_caught() {
    for (fault, by) in [
        (
            Fault::LeavesDueEndsOfRevokedKeys,
            "revoking_a_key_whose_planned_end_has_come_records_that_end",
        ),
        (
            Fault::OwnersLeaveDueEndsOfRevokedKeys,
            "owners_record_planned_ends_of_selected_keys_that_have_come",
        ),
        (
            Fault::LeavesDueEndsOfRemovedMembers,
            "ending_a_membership_whose_planned_end_has_come_records_that_end",
        ),
        (
            Fault::RecordsEndsOfKeysOnly,
            "an_end_is_due_from_its_moment_until_it_is_recorded",
        ),
        (
            Fault::ForgetsEventsOf(Action::ExpireApiKey),
            "a_recorded_end_of_a_key_stays_as_planned_and_has_one_event",
        ),
        (
            Fault::ForgetsEventsOf(Action::ExpireMembership),
            "the_recorded_end_of_a_membership_takes_back_open_invitations",
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
            "the_recorded_end_of_a_membership_takes_back_open_invitations",
        ),
        (
            Fault::KeepsInvitationsAtReturn,
            "who_returns_has_no_invitations_open_from_before_a_planned_end",
        ),
    ] {
        assert_caught(fault, &[by]).await;
    }
}

#[tokio::test]
async fn a_batch_of_ends_without_limit_is_caught() {
    let by = ["a_batch_of_recorded_ends_has_a_limit"];
    assert_caught(Fault::RecordsEndsWithoutLimit, &by).await;
}

#[tokio::test]
async fn an_owner_with_a_planned_end_who_counts_as_permanent_is_caught() {
    let by = ["the_last_owner_without_a_planned_end_stays_owner"];
    assert_caught(Fault::CountsOwnersWithPlannedEnds, &by).await;
}

//! Tests of the conformance suite: a store with a fault fails the cases that check for it, and few others.

use keyward_domain::audit::Action;

use crate::broken_store::{Fault, List, Secret, assert_caught, assert_fails, caught, failed};

#[tokio::test]
async fn correct_store_passes_every_case() {
    assert_eq!(failed(Fault::None).await, [""; 0]);
}

caught! {
    finding_another_consumers_key_is_detected: Fault::FindsAnyConsumersKey => [
        "another_consumers_key_is_not_found",
        "users_key_in_another_organization_is_not_found",
        "key_batch_lookup_returns_each_own_key_once",
    ];
    listing_old_leaks_is_detected: Fault::ListsOldLeaks => [
        "leaked_keys_are_listed_last_revoked_first",
        "leaked_keys_of_all_members_are_listed_for_owners",
    ];
    leaks_hidden_behind_those_of_one_member_are_detected: Fault::LetsLeaksOfOneMemberHideOthers => [
        "no_member_hides_a_leaked_key_of_another",
    ];
    revoking_another_consumers_key_is_detected: Fault::RevokesAnyConsumersKey => [
        "another_consumers_key_cannot_be_revoked",
    ];
    surplus_event_is_detected: Fault::WritesEventsOfIneffectiveEdits => ["ineffective_edit_writes_no_event"];
    wrong_order_of_checks_is_detected: Fault::ChecksKeyLimitFirst => [
        "repeated_form_is_reported_before_the_limit",
        "missing_holder_is_reported_before_the_limit",
    ];
    edits_bypassing_the_rate_limit_are_detected: Fault::IgnoresRateLimitOfEdits => [
        "ineffective_edit_is_counted",
        "creating_and_editing_keys_share_one_consumers_rate_limit",
    ];
    cutoff_time_that_keeps_descendants_is_detected: Fault::OwnersKeepDescendantsOfSelectedKeys => [
        "cutoff_time_selects_descendants_of_earlier_keys",
        "cutoff_time_selects_descendants_of_removed_keys",
    ];
    session_that_keeps_its_token_is_detected: Fault::KeepsSessionTokenOfPasswordChange => [
        "password_change_ends_the_users_other_sessions",
    ];
    revoked_key_that_acts_is_detected: Fault::LetsRevokedKeysAct => [
        "revoked_key_edits_no_other_key",
        "revoked_key_revokes_no_other_key",
        "revoked_key_edits_nothing_after_concurrent_revocation_is_confirmed",
        "revoked_key_revokes_nothing_after_concurrent_revocation_is_confirmed",
    ];
    restricted_key_that_manages_keys_is_detected: Fault::LetsEveryKeyManageKeys => [
        "restricted_key_creates_no_keys_in_store",
        "restricted_key_edits_only_itself",
        "restricted_key_revokes_only_itself",
    ];
    forgotten_idempotency_key_of_a_project_is_detected: Fault::IgnoresIdempotencyKeysOfProjects => [
        "project_form_creates_one_project_even_after_archival",
        "concurrent_submissions_of_one_form_create_one_project",
    ];
    revocation_missing_a_new_child_is_detected: Fault::FindsDescendantsBeforeTransaction => [
        "no_child_survives_a_concurrent_revocation_with_descendants",
    ];
    ignored_version_precondition_is_detected: Fault::IgnoresPreconditions => [
        "second_edit_of_the_same_version_is_refused",
        "edit_precondition_names_several_versions_or_none",
        "revocation_of_another_version_revokes_nothing",
        "repeated_revocation_succeeds_with_any_version",
    ];
    unescaped_search_wildcard_is_detected: Fault::TreatsPercentSignsAsWildcards => [
        "wildcards_and_quotes_in_key_search_are_literal",
    ];
    hint_search_by_last_four_characters_is_detected: Fault::FindsHintsByLastFourCharacters => [
        "key_search_matches_descriptions_and_last_four_characters",
        "held_keys_match_by_name_last_four_characters_and_holder",
    ];
    name_lookup_by_a_part_of_the_name_is_detected: Fault::FindsNamesBySubstring => [
        "members_are_found_by_exact_username_or_display_name",
        "projects_are_found_by_exact_name",
        "held_keys_are_found_by_exact_name_or_hint",
    ];
    member_lookup_by_username_prefix_is_detected: Fault::FindsUsernamesByPrefix => [
        "active_member_is_identified_by_membership_or_full_username",
    ];
    cached_credentials_are_detected: Fault::CachesCredentials => [
        "credentials_immediately_reflect_the_end_of_their_membership",
    ];
    project_lookup_ignoring_membership_is_detected: Fault::ReachesEveryProject => [
        "consumer_reaches_its_own_projects_newest_first",
        "archived_project_is_unreachable_until_restored",
        "former_member_reaches_nothing_and_returns_without_projects",
    ];
    throttle_counting_before_refusal_is_detected: Fault::CountsRefusedAttempts => [
        "attempt_is_counted_in_all_buckets_or_none",
    ];
    successor_that_falls_to_its_creator_is_caught: Fault::DropsRemovedAdoptiveParents => [
        "successor_stays_away_from_its_creator_without_its_adopter",
    ];
    kept_key_taken_for_surplus_is_caught: Fault::KeepsOneEndedKeyTooFew => [
        "keys_that_ended_last_are_kept",
        "each_member_with_surplus_keys_is_found_once",
        "surplus_keys_of_former_members_are_removed",
    ];
    surplus_keys_removed_too_early_are_caught: Fault::RemovesSurplusKeysTooEarly => [
        "surplus_keys_are_kept_until_the_cutoff",
        "surplus_key_created_after_the_cutoff_is_kept",
    ];
    invitation_that_seems_older_than_an_end_is_detected: Fault::TimesInvitationsByClockAlone => [
        "invitation_made_right_after_the_end_admits_the_former_member",
        "invitation_after_removal_by_fast_clock_admits_the_former_member",
    ];
}

#[tokio::test]
async fn missing_event_is_detected() {
    for (action, by) in [
        (Action::CreateApiKey, "key_creation_writes_its_event"),
        (Action::EditApiKey, "edit_writes_its_event"),
        (Action::RevokeApiKey, "each_revoked_key_has_its_own_event"),
        (Action::SignIn, "session_start_writes_its_event"),
    ] {
        assert_fails(Fault::OmitsEventsOf(action), &[by]).await;
    }
}

#[tokio::test]
async fn revocation_of_wrong_generations_is_detected() {
    for (fault, by) in [
        (
            Fault::KeepsGreatGrandchildren,
            "long_chain_of_descendants_is_revoked_completely",
        ),
        (
            Fault::OwnersRevokeUnselectedGrandchildren,
            "descendants_remain_valid_after_owner_revocation_unless_selected",
        ),
        (
            Fault::OwnersKeepGreatGrandchildren,
            "owner_revokes_a_long_chain_of_descendants_completely",
        ),
    ] {
        assert_caught(fault, &[by]).await;
    }
    let by = ["every_generation_remains_valid_unless_its_revocation_is_requested"];
    assert_fails(Fault::RevokesUnselectedGrandchildren, &by).await;
}

#[tokio::test]
async fn partial_digest_comparison_is_detected() {
    let token = "credential_lookup_compares_every_byte_of_the_digest";
    for (bytes, secret, by) in [
        (4, Secret::Token, token),
        (8, Secret::Token, token),
        (31, Secret::Token, token),
        (
            31,
            Secret::Session,
            "session_lookup_compares_every_byte_of_the_digest",
        ),
        (
            31,
            Secret::Invitation,
            "invitation_lookup_compares_every_byte_of_the_digest",
        ),
        (
            31,
            Secret::SetupLink,
            "setup_link_lookup_compares_every_byte_of_the_digest",
        ),
    ] {
        assert_caught(Fault::ComparesDigestPrefixes(bytes, secret), &[by]).await;
    }
}

#[tokio::test]
async fn list_truncated_at_100_is_detected() {
    for (list, by) in [
        (List::Keys, "list_of_keys_continues_beyond_100"),
        (List::Events, "log_continues_beyond_100_events"),
        (List::Members, "list_of_members_continues_beyond_100"),
        (List::Projects, "list_of_projects_continues_beyond_100"),
        (
            List::ProjectMembers,
            "list_of_project_members_continues_beyond_100",
        ),
        (List::Invitations, "list_of_invitations_continues_beyond_100"),
        (
            List::OrganizationKeys,
            "list_of_organization_keys_continues_beyond_100",
        ),
        (
            List::ReachableProjects,
            "list_of_reachable_projects_continues_beyond_100",
        ),
    ] {
        assert_caught(Fault::TruncatesPagesAt100(list), &[by]).await;
    }
}

#[tokio::test]
async fn filtered_list_truncated_at_100_is_detected() {
    for (list, by) in [
        (List::Keys, "list_of_keys_continues_beyond_100"),
        (List::Events, "log_continues_beyond_100_events"),
        (List::Members, "list_of_members_continues_beyond_100"),
        (List::Projects, "list_of_projects_continues_beyond_100"),
        (
            List::OrganizationKeys,
            "list_of_organization_keys_continues_beyond_100",
        ),
    ] {
        assert_caught(Fault::TruncatesFilteredPagesAt100(list), &[by]).await;
    }
}

/// A case fails as soon as a page does not lead further; otherwise it would request the same page without
/// end.
#[tokio::test]
async fn pages_without_continuation_are_detected() {
    for (list, by) in [
        (List::Keys, "pages_of_every_size_form_the_whole_list"),
        (List::Events, "pages_of_events_form_the_whole_log"),
        (List::Members, "pages_of_members_form_the_whole_list"),
        (List::Projects, "pages_of_projects_form_the_whole_list"),
        (
            List::ProjectMembers,
            "pages_of_project_members_form_the_whole_list",
        ),
        (
            List::Invitations,
            "pages_of_pending_invitations_form_the_whole_list",
        ),
        (
            List::OrganizationKeys,
            "keys_of_all_members_are_listed_newest_first_over_pages",
        ),
        (
            List::ReachableProjects,
            "pages_of_reachable_projects_form_the_whole_list",
        ),
        (List::Feed, "continued_reading_neither_misses_nor_repeats_events"),
        (List::Feed, "feed_misses_no_event_of_concurrent_writers"),
    ] {
        assert_fails(Fault::IgnoresCursor(list), &[by]).await;
    }
}

#[tokio::test]
async fn audit_feed_missing_or_altering_events_is_detected() {
    for (fault, by) in [
        (Fault::AcceptsUnknownPositions, "unknown_positions_are_refused"),
        (
            Fault::FindsPositionsByNumberOnly,
            "positions_are_found_by_event_after_import",
        ),
        (
            Fault::FeedsInstallationLogOnly,
            "events_of_all_logs_are_read_in_commit_order",
        ),
        (
            Fault::SkipsEventAfterPosition,
            "continued_reading_neither_misses_nor_repeats_events",
        ),
        (
            Fault::ReportsNoRemovedNumbers,
            "positions_remain_valid_and_unique_after_event_removal",
        ),
        (
            Fault::FeedsBeforeLowerNumbersCommit,
            "feed_misses_no_event_of_concurrent_writers",
        ),
    ] {
        assert_caught(fault, &[by]).await;
    }
}

#[tokio::test]
async fn wrong_choice_of_surplus_keys_is_caught() {
    let members = "each_member_with_surplus_keys_is_found_once";
    for (fault, by) in [
        (
            Fault::TreatsDueKeysAsEnded,
            "planned_end_makes_no_surplus_until_it_is_recorded",
        ),
        (Fault::RemovesSurplusKeysOfOtherMembers, members),
        (Fault::RepeatsFirstMemberWithSurplusKeys, members),
        (
            Fault::RemovesSurplusKeysWithoutLimit,
            "surplus_removal_batch_size_is_limited",
        ),
    ] {
        assert_caught(fault, &[by]).await;
    }
}

#[tokio::test]
async fn wrong_limit_of_open_invitations_is_detected() {
    let by = ["organization_has_a_maximum_number_of_open_invitations"];
    for fault in [Fault::IgnoresInvitationLimit, Fault::CountsExpiredInvitations] {
        assert_caught(fault, &by).await;
    }
}

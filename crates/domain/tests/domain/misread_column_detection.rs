//! A store that reads a column differently than it was written fails the cases that check for it, and few
//! others.

use crate::broken_store::{Column, Fault, assert_caught, blank_texts};

/// The name is the first of a key's texts.
const NAME: Column = Column::KeyText(0);

#[tokio::test]
async fn misread_key_column_is_detected() {
    let key = "key_reads_back_as_added";
    for place in 1..blank_texts().len() {
        assert_caught(Fault::Misreads(Column::KeyText(place)), &[key]).await;
    }
    for (column, by) in [
        (Column::KeyOrigin, key),
        (
            Column::KeyAdoptiveParent,
            "removed_key_remains_recorded_as_creator_of_its_children",
        ),
        (Column::KeyCreatedAt, key),
        (Column::KeyRotatedFrom, "rotated_key_and_its_successor_are_stored"),
        (Column::KeyRotatedTo, "rotated_key_and_its_successor_are_stored"),
        (Column::KeyCanManageKeys, "key_keeps_its_right_to_manage_keys"),
    ] {
        assert_caught(Fault::Misreads(column), &[by]).await;
    }
}

#[tokio::test]
async fn key_column_that_only_owners_misread_is_detected() {
    let held = "held_key_is_complete_except_for_its_exact_last_address";
    let texts = (0..blank_texts().len()).map(Column::KeyText);
    for column in texts.chain([Column::KeyOrigin]) {
        assert_caught(Fault::MisreadsForOwners(column), &[held]).await;
    }
}

#[tokio::test]
async fn misread_revocation_or_last_use_column_is_detected() {
    let (revocation, used) = (
        "revocation_stores_time_actor_reason_and_note",
        "last_use_reads_back_as_recorded",
    );
    let applied = "applied_longest_life_ends_only_keys_that_would_outlive_it";
    let end = [
        revocation,
        applied,
        "longest_life_applies_to_keys_created_later",
        "longest_life_is_applied_by_the_clock_under_the_lock",
        "rotated_key_and_its_successor_are_stored",
        "key_gives_itself_no_longer_life_by_rotation",
        "key_rotates_itself_again_once_its_successor_ended",
        "end_of_a_key_whose_successor_ended_is_moved",
        "successor_ends_after_the_longest_life",
        "new_key_ends_within_the_longest_life",
        "planned_end_stays_within_the_longest_life",
        "successor_ends_within_the_longest_life",
    ];
    assert_caught(Fault::Misreads(Column::KeyRevokedAt), &end).await;
    let reason = [
        revocation,
        applied,
        "rotation_at_once_revokes_the_old_key",
        "end_of_a_key_whose_successor_ended_is_moved",
    ];
    assert_caught(Fault::Misreads(Column::KeyRevocationReason), &reason).await;
    for (column, by) in [
        (Column::KeyRevokedBy, revocation),
        (
            Column::KeyRevocationNote,
            "revoked_keys_store_all_details_with_one_event_each",
        ),
        (Column::KeyLastUsedAt, used),
        (Column::KeyLastUsedFrom, used),
    ] {
        assert_caught(Fault::Misreads(column), &[by]).await;
    }
}

#[tokio::test]
async fn misread_credential_column_is_detected() {
    let credential = "credential_holds_all_facts_about_the_caller";
    for (column, by) in [
        (Column::CredentialKeyCreatedAt, credential),
        (
            Column::CredentialCanManageKeys,
            "credential_includes_the_right_to_manage_keys",
        ),
        (Column::CredentialOrganizationName, credential),
        (
            Column::CredentialRevokedAt,
            "credential_includes_the_revocation_time_of_its_key",
        ),
        (
            Column::CredentialMembershipEndedAt,
            "credentials_immediately_reflect_the_end_of_their_membership",
        ),
    ] {
        assert_caught(Fault::Misreads(column), &[by]).await;
    }
}

/// Names are used to find keys, are changed by edits, and so are part of a key's version.
#[tokio::test]
async fn misread_key_name_or_hint_is_detected() {
    let found = [
        "key_search_matches_descriptions_and_last_four_characters",
        "held_keys_match_by_name_last_four_characters_and_holder",
        "key_reads_back_as_added",
    ];
    assert_caught(Fault::Misreads(Column::KeyHint), &found).await;
    let named = [
        "key_search_ignores_case_in_every_script",
        "wildcards_and_quotes_in_key_search_are_literal",
        "key_search_without_term_finds_all",
        "key_search_reflects_edits",
        "key_search_is_limited_to_consumer_and_status",
        "key_search_continues_over_pages",
        "edit_changes_only_the_given_fields",
        "edit_completes_after_caller_cancellation",
        "concurrent_edits_preserve_each_others_fields",
        "second_edit_of_the_same_version_is_refused",
        "edit_precondition_names_several_versions_or_none",
        "concurrent_edits_of_one_version_apply_once",
        "revocation_of_another_version_revokes_nothing",
        "held_keys_are_found_by_exact_name_or_hint",
    ];
    assert_caught(Fault::Misreads(NAME), &[&found[..], &named].concat()).await;
}

#[tokio::test]
async fn misread_event_column_is_detected() {
    let read_back = "every_kind_of_event_reads_back_as_recorded";
    let values = [
        read_back,
        "longest_life_change_writes_one_event",
        "applied_longest_life_writes_one_event_for_each_key",
    ];
    for column in [Column::EventOldValue, Column::EventNewValue] {
        assert_caught(Fault::Misreads(column), &values).await;
    }
    for column in [
        Column::EventAt,
        Column::EventActor,
        Column::EventObject,
        Column::EventOutcome,
        Column::EventAddress,
        Column::EventRequestId,
    ] {
        assert_caught(Fault::Misreads(column), &[read_back]).await;
    }
}

#[tokio::test]
async fn misread_member_column_is_detected() {
    let (member, setup) = (
        "active_member_is_found_completely",
        "setup_link_creates_organization_owner_and_membership",
    );
    for (column, by) in [
        (
            Column::OrganizationName,
            &[member, setup, "organizations_are_listed_by_name"][..],
        ),
        (Column::OrganizationCreatedAt, &[member, setup]),
        (
            Column::OrganizationNewKeys,
            &["default_key_right_applies_to_keys_created_later"],
        ),
        (
            Column::OrganizationKeyLife,
            &["longest_life_applies_to_keys_created_later"],
        ),
        (Column::UserDisplayName, &[member]),
        (Column::UserCreatedAt, &[member, setup]),
        (Column::MembershipJoinedAt, &[member, setup]),
        (
            Column::MembershipEndedAt,
            &["keys_of_former_members_are_marked_as_not_working"],
        ),
        (
            Column::MembershipRole,
            &[
                member,
                setup,
                "changed_role_reads_back_with_its_event",
                "last_owner_cannot_be_demoted",
                "concurrent_mutual_removal_of_two_owners_removes_one",
                "concurrent_mutual_demotion_of_two_owners_keeps_one_owner",
                "concurrent_leaving_of_two_owners_keeps_one",
                "concurrent_leaving_and_demotion_of_many_owners_keeps_one",
            ],
        ),
    ] {
        assert_caught(Fault::Misreads(column), by).await;
    }
}

#[tokio::test]
async fn misread_invitation_or_session_column_is_detected() {
    let (invitation, session) = ("invitation_reads_back_as_added", "session_reads_back_as_started");
    for (column, by) in [
        (Column::InvitationInvitee, invitation),
        (Column::InvitationRole, invitation),
        (Column::InvitationInvitedBy, invitation),
        (Column::InvitationCreatedAt, invitation),
        (Column::InvitationExpiresAt, invitation),
        (Column::SessionStartedAt, session),
        (Column::SessionLastSeenAt, session),
        (Column::SessionStartedFrom, session),
        (Column::SessionUserAgent, session),
    ] {
        assert_caught(Fault::Misreads(column), &[by]).await;
    }
}

#[tokio::test]
async fn misread_project_column_is_detected() {
    let project = "project_reads_back_as_added";
    for (column, by) in [
        (Column::ProjectCreatedAt, project),
        (
            Column::ProjectArchivedAt,
            "archived_project_keeps_its_archival_time_until_restored",
        ),
    ] {
        assert_caught(Fault::Misreads(column), &[by]).await;
    }
    let named = [
        project,
        "renamed_project_is_found_by_its_new_name",
        "project_search_matches_names_literally",
        "projects_are_found_by_exact_name",
    ];
    assert_caught(Fault::Misreads(Column::ProjectName), &named).await;
}

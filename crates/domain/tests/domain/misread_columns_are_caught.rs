//! A store that reads one column otherwise than it was written breaks the cases that are there for it, and few others.

use crate::broken_store::{Column, Fault, assert_caught};

#[tokio::test]
async fn a_column_of_a_key_that_is_misread_is_caught() {
    let key = "a_key_reads_back_as_it_was_added";
    for (column, by) in [
        (Column::KeyDescription, key),
        (Column::KeyOrigin, key),
        (
            Column::KeyRetainedParent,
            "a_removed_key_still_tells_its_children_who_made_them",
        ),
        (Column::KeyCreatedAt, key),
        (Column::KeyCanManageKeys, "a_key_keeps_whether_it_may_manage_keys"),
    ] {
        assert_caught(Fault::Misreads(column), &[by]).await;
    }
}

#[tokio::test]
async fn a_column_of_a_revocation_or_a_last_use_that_is_misread_is_caught() {
    let (revocation, used) = (
        "a_revocation_keeps_its_moment_actor_and_reason",
        "a_last_use_reads_back_as_it_was_recorded",
    );
    for (column, by) in [
        (Column::KeyRevokedAt, revocation),
        (Column::KeyRevokedBy, revocation),
        (Column::KeyRevocationReason, revocation),
        (
            Column::KeyRevocationNote,
            "revoked_keys_keep_moment_actor_reason_and_note_and_have_an_event_each",
        ),
        (Column::KeyLastUsedAt, used),
        (Column::KeyLastUsedFrom, used),
    ] {
        assert_caught(Fault::Misreads(column), &[by]).await;
    }
}

#[tokio::test]
async fn a_column_of_a_credential_that_is_misread_is_caught() {
    let credential = "a_credential_holds_every_fact_about_the_caller";
    for (column, by) in [
        (Column::CredentialKeyCreatedAt, credential),
        (
            Column::CredentialCanManageKeys,
            "a_credential_tells_whether_its_key_may_manage_keys",
        ),
        (Column::CredentialOrganizationName, credential),
        (
            Column::CredentialRevokedAt,
            "a_credential_tells_when_its_key_was_revoked",
        ),
        (
            Column::CredentialMembershipEndedAt,
            "credentials_tell_at_once_when_their_membership_has_ended",
        ),
    ] {
        assert_caught(Fault::Misreads(column), &[by]).await;
    }
}

/// Names are what people find keys by, what edits change, and so what tells one version of a key from another.
#[tokio::test]
async fn a_name_or_a_hint_of_a_key_that_is_misread_is_caught() {
    let found = [
        "a_search_reads_descriptions_and_the_last_four_characters",
        "held_keys_are_found_by_name_last_four_and_holder",
        "a_key_reads_back_as_it_was_added",
    ];
    assert_caught(Fault::Misreads(Column::KeyHint), &found).await;
    let named = [
        "a_search_finds_names_in_any_case_and_script",
        "wildcards_and_quotes_in_a_search_are_literal",
        "a_search_without_a_term_finds_all",
        "a_search_follows_edits",
        "a_search_stays_within_the_consumer_and_the_status",
        "a_search_goes_on_over_pages",
        "an_edit_changes_only_what_it_names",
        "an_edit_happens_in_full_even_if_the_caller_stops_waiting",
        "concurrent_edits_keep_each_others_fields",
        "of_two_edits_of_one_version_the_second_is_refused",
        "an_edit_may_name_several_versions_or_none",
        "of_many_concurrent_edits_of_one_version_one_happens",
        "a_revocation_of_another_version_revokes_nothing",
    ];
    assert_caught(Fault::Misreads(Column::KeyName), &[&found[..], &named].concat()).await;
}

#[tokio::test]
async fn a_column_of_an_event_that_is_misread_is_caught() {
    let by = ["every_kind_of_event_reads_back_as_it_was_recorded"];
    for column in [
        Column::EventAt,
        Column::EventActor,
        Column::EventObject,
        Column::EventOutcome,
        Column::EventAddress,
        Column::EventRequestId,
    ] {
        assert_caught(Fault::Misreads(column), &by).await;
    }
}

#[tokio::test]
async fn a_column_of_a_member_that_is_misread_is_caught() {
    let (member, setup) = (
        "a_live_member_is_found_whole",
        "the_link_sets_up_organization_owner_and_membership",
    );
    for (column, by) in [
        (
            Column::OrganizationName,
            &[member, setup, "organizations_come_by_name"][..],
        ),
        (Column::OrganizationCreatedAt, &[member, setup]),
        (
            Column::OrganizationNewKeys,
            &["a_choice_for_new_keys_holds_for_keys_from_then_on"],
        ),
        (Column::UserDisplayName, &[member]),
        (Column::UserCreatedAt, &[member, setup]),
        (Column::MembershipJoinedAt, &[member, setup]),
        (
            Column::MembershipEndedAt,
            &["keys_of_former_members_are_told_from_those_that_work"],
        ),
        (
            Column::MembershipRole,
            &[
                member,
                setup,
                "a_changed_role_reads_back_and_is_told",
                "the_last_owner_stays_owner",
                "of_two_owners_who_remove_each_other_at_once_one_is_removed",
                "of_two_owners_who_demote_each_other_at_once_one_stays_owner",
                "of_two_owners_who_leave_at_once_one_stays",
                "of_many_owners_who_leave_or_step_down_at_once_one_stays_owner",
            ],
        ),
    ] {
        assert_caught(Fault::Misreads(column), by).await;
    }
}

#[tokio::test]
async fn a_column_of_an_invitation_or_a_session_that_is_misread_is_caught() {
    let (invitation, session) = (
        "an_invitation_reads_back_as_it_was_added",
        "a_session_reads_back_as_it_was_started",
    );
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
async fn a_column_of_a_project_that_is_misread_is_caught() {
    let project = "a_project_reads_back_as_it_was_added";
    for (column, by) in [
        (Column::ProjectCreatedAt, project),
        (
            Column::ProjectArchivedAt,
            "an_archived_project_keeps_its_moment_until_it_is_restored",
        ),
    ] {
        assert_caught(Fault::Misreads(column), &[by]).await;
    }
    let named = [
        project,
        "a_renamed_project_is_found_by_its_new_name",
        "a_search_finds_projects_by_their_names_literally",
    ];
    assert_caught(Fault::Misreads(Column::ProjectName), &named).await;
}

//! The conformance suite can fail: each faulty store breaks the case that is there for its fault.

use keyward_domain::audit::Action;
use keyward_domain::testing::conformance::{Stores, cases};

use crate::broken_store::{BrokenStore, Fault};

async fn assert_caught<Case: Future<Output = ()> + Send + 'static>(fault: Fault, case: fn(Stores) -> Case) {
    let outcome = tokio::spawn(case(BrokenStore::stores(fault))).await;
    assert!(
        outcome.is_err_and(|error| error.is_panic()),
        "a store with the fault {fault:?} passes"
    );
}

// On the one thread of these tests, tasks meet at the same points in every run.

#[tokio::test]
async fn finding_another_consumers_key_is_caught() {
    assert_caught(
        Fault::FindsAnyConsumersKey,
        cases::another_consumers_key_is_not_found,
    )
    .await;
    assert_caught(
        Fault::FindsAnyConsumersKey,
        cases::a_key_of_the_same_users_other_membership_is_not_found,
    )
    .await;
}

#[tokio::test]
async fn revoking_another_consumers_key_is_caught() {
    assert_caught(
        Fault::RevokesAnyConsumersKey,
        cases::another_consumers_key_cannot_be_revoked,
    )
    .await;
}

#[tokio::test]
async fn a_forgotten_event_is_caught() {
    let forgets = Fault::ForgetsEventsOf;
    assert_caught(
        forgets(Action::CreateApiKey),
        cases::adding_a_key_writes_its_event,
    )
    .await;
    assert_caught(forgets(Action::EditApiKey), cases::an_edit_writes_its_event).await;
    assert_caught(
        forgets(Action::RevokeApiKey),
        cases::each_revoked_key_has_its_own_event,
    )
    .await;
    assert_caught(
        forgets(Action::SignIn),
        cases::starting_a_session_writes_its_event,
    )
    .await;
}

#[tokio::test]
async fn an_event_too_many_is_caught() {
    assert_caught(
        Fault::TellsOfEditsThatChangeNothing,
        cases::an_edit_that_changes_nothing_writes_no_event,
    )
    .await;
}

#[tokio::test]
async fn a_limit_that_is_not_checked_in_the_transaction_is_caught() {
    assert_caught(
        Fault::CountsKeysBeforeTheTransaction,
        cases::of_many_concurrent_keys_only_as_many_as_the_limit_allows_are_added,
    )
    .await;
}

#[tokio::test]
async fn the_wrong_order_of_checks_is_caught() {
    assert_caught(
        Fault::ChecksTheLimitFirst,
        cases::a_repeated_form_is_told_before_the_limit,
    )
    .await;
    assert_caught(
        Fault::ChecksTheLimitFirst,
        cases::a_gone_holder_is_told_before_the_limit,
    )
    .await;
}

#[tokio::test]
async fn an_edit_that_undoes_another_is_caught() {
    assert_caught(
        Fault::WritesBackTheWholeKey,
        cases::concurrent_edits_keep_each_others_fields,
    )
    .await;
}

#[tokio::test]
async fn a_revoked_key_that_acts_is_caught() {
    assert_caught(
        Fault::LetsRevokedKeysAct,
        cases::a_key_that_was_revoked_edits_no_other,
    )
    .await;
    assert_caught(
        Fault::LetsRevokedKeysAct,
        cases::a_key_that_was_revoked_revokes_no_other,
    )
    .await;
}

#[tokio::test]
async fn a_key_that_acts_after_its_concurrent_revocation_is_caught() {
    assert_caught(
        Fault::ChecksWhoActsBeforeTheTransaction,
        cases::a_key_changes_nothing_once_its_concurrent_revocation_is_answered,
    )
    .await;
}

#[tokio::test]
async fn a_revocation_that_misses_a_new_child_is_caught() {
    assert_caught(
        Fault::LooksForDescendantsBeforeTheTransaction,
        cases::no_child_outlives_a_concurrent_revocation_with_descendants,
    )
    .await;
}

#[tokio::test]
async fn a_wildcard_in_a_search_is_caught() {
    assert_caught(
        Fault::TakesPercentSignsForWildcards,
        cases::wildcards_and_quotes_in_a_search_are_literal,
    )
    .await;
}

#[tokio::test]
async fn credentials_answered_from_memory_are_caught() {
    assert_caught(
        Fault::RemembersCredentials,
        cases::credentials_tell_at_once_when_their_membership_has_ended,
    )
    .await;
}

#[tokio::test]
async fn a_throttle_that_is_not_atomic_is_caught() {
    assert_caught(
        Fault::ReadsTheThrottleBeforeTheTransaction,
        cases::concurrent_attempts_pass_no_more_often_than_one_after_the_other,
    )
    .await;
}

//! The conformance suite can fail: each faulty store breaks the case that is there for its fault.

use keyward_domain::audit::Action;
use keyward_domain::testing::conformance::{KeyStores, Stores, key_cases, sign_in_cases};

use crate::broken_store::{BrokenStore, Fault};

async fn assert_caught<Case>(fault: Fault, case: fn(KeyStores) -> Case)
where
    Case: Future<Output = ()> + Send + 'static,
{
    assert_panics(fault, case(BrokenStore::stores(fault).keys)).await;
}

async fn assert_caught_by_sign_in<Case>(fault: Fault, case: fn(Stores) -> Case)
where
    Case: Future<Output = ()> + Send + 'static,
{
    assert_panics(fault, case(BrokenStore::stores(fault))).await;
}

async fn assert_panics(fault: Fault, case: impl Future<Output = ()> + Send + 'static) {
    let outcome = tokio::spawn(case).await;
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
        key_cases::another_consumers_key_is_not_found,
    )
    .await;
    assert_caught(
        Fault::FindsAnyConsumersKey,
        key_cases::a_key_of_the_same_users_other_membership_is_not_found,
    )
    .await;
    assert_caught(
        Fault::FindsAnyConsumersKey,
        key_cases::of_many_keys_the_consumers_own_are_found_each_once,
    )
    .await;
}

#[tokio::test]
async fn revoking_another_consumers_key_is_caught() {
    assert_caught(
        Fault::RevokesAnyConsumersKey,
        key_cases::another_consumers_key_cannot_be_revoked,
    )
    .await;
}

#[tokio::test]
async fn a_forgotten_event_is_caught() {
    let forgets = Fault::ForgetsEventsOf;
    assert_caught(
        forgets(Action::CreateApiKey),
        key_cases::adding_a_key_writes_its_event,
    )
    .await;
    assert_caught(forgets(Action::EditApiKey), key_cases::an_edit_writes_its_event).await;
    assert_caught(
        forgets(Action::RevokeApiKey),
        key_cases::each_revoked_key_has_its_own_event,
    )
    .await;
    assert_caught_by_sign_in(
        forgets(Action::SignIn),
        sign_in_cases::starting_a_session_writes_its_event,
    )
    .await;
}

#[tokio::test]
async fn an_event_too_many_is_caught() {
    assert_caught(
        Fault::TellsOfEditsThatChangeNothing,
        key_cases::an_edit_that_changes_nothing_writes_no_event,
    )
    .await;
}

#[tokio::test]
async fn a_limit_that_is_not_checked_in_the_transaction_is_caught() {
    assert_caught(
        Fault::CountsKeysBeforeTheTransaction,
        key_cases::of_many_concurrent_keys_only_as_many_as_the_limit_allows_are_added,
    )
    .await;
}

#[tokio::test]
async fn the_wrong_order_of_checks_is_caught() {
    assert_caught(
        Fault::ChecksTheLimitFirst,
        key_cases::a_repeated_form_is_told_before_the_limit,
    )
    .await;
    assert_caught(
        Fault::ChecksTheLimitFirst,
        key_cases::a_gone_holder_is_told_before_the_limit,
    )
    .await;
}

#[tokio::test]
async fn a_rate_that_edits_evade_is_caught() {
    let fault = Fault::CountsNoEdits;
    assert_caught(fault, key_cases::an_edit_that_changes_nothing_counts).await;
    assert_caught(fault, key_cases::creating_and_editing_keys_count_for_one_consumer).await;
}

#[tokio::test]
async fn a_rate_that_is_not_checked_in_the_transaction_is_caught() {
    assert_caught(
        Fault::ReadsTheRateBeforeTheTransaction,
        key_cases::concurrent_changes_let_exactly_the_burst_through,
    )
    .await;
}

#[tokio::test]
async fn an_edit_that_undoes_another_is_caught() {
    assert_caught(
        Fault::WritesBackTheWholeKey,
        key_cases::concurrent_edits_keep_each_others_fields,
    )
    .await;
}

#[tokio::test]
async fn a_revoked_key_that_acts_is_caught() {
    assert_caught(
        Fault::LetsRevokedKeysAct,
        key_cases::a_key_that_was_revoked_edits_no_other,
    )
    .await;
    assert_caught(
        Fault::LetsRevokedKeysAct,
        key_cases::a_key_that_was_revoked_revokes_no_other,
    )
    .await;
}

#[tokio::test]
async fn a_key_that_manages_keys_without_the_right_is_caught() {
    let fault = Fault::LetsEveryKeyManageKeys;
    assert_caught(fault, key_cases::a_key_that_may_not_manage_keys_creates_none).await;
    assert_caught(fault, key_cases::a_key_that_may_not_manage_keys_edits_only_itself).await;
    assert_caught(
        fault,
        key_cases::a_key_that_may_not_manage_keys_revokes_only_itself,
    )
    .await;
}

#[tokio::test]
async fn a_key_that_acts_after_its_concurrent_revocation_is_caught() {
    assert_caught(
        Fault::ChecksWhoActsBeforeTheTransaction,
        key_cases::a_key_changes_nothing_once_its_concurrent_revocation_is_answered,
    )
    .await;
}

#[tokio::test]
async fn a_revocation_that_misses_a_new_child_is_caught() {
    assert_caught(
        Fault::LooksForDescendantsBeforeTheTransaction,
        key_cases::no_child_outlives_a_concurrent_revocation_with_descendants,
    )
    .await;
}

#[tokio::test]
async fn a_store_that_takes_every_version_is_caught() {
    let fault = Fault::TakesEveryVersion;
    assert_caught(
        fault,
        key_cases::of_two_edits_of_one_version_the_second_is_refused,
    )
    .await;
    assert_caught(fault, key_cases::an_edit_may_name_several_versions_or_none).await;
    assert_caught(fault, key_cases::a_revocation_of_another_version_revokes_nothing).await;
    assert_caught(
        fault,
        key_cases::a_repeated_revocation_succeeds_whatever_the_version,
    )
    .await;
}

#[tokio::test]
async fn versions_that_are_compared_before_the_transaction_are_caught() {
    let fault = Fault::ComparesVersionsBeforeTheTransaction;
    assert_caught(
        fault,
        key_cases::of_many_concurrent_edits_of_one_version_one_happens,
    )
    .await;
    assert_caught(
        fault,
        key_cases::an_edit_and_a_revocation_of_one_version_do_not_both_happen,
    )
    .await;
    // A key that is revoked already needs none.
    assert_caught(
        fault,
        key_cases::a_repeated_revocation_succeeds_whatever_the_version,
    )
    .await;
    assert_caught(
        fault,
        key_cases::who_acts_and_the_keys_state_are_told_before_its_version,
    )
    .await;
}

#[tokio::test]
async fn a_wildcard_in_a_search_is_caught() {
    assert_caught(
        Fault::TakesPercentSignsForWildcards,
        key_cases::wildcards_and_quotes_in_a_search_are_literal,
    )
    .await;
}

#[tokio::test]
async fn credentials_answered_from_memory_are_caught() {
    assert_caught(
        Fault::RemembersCredentials,
        key_cases::credentials_tell_at_once_when_their_membership_has_ended,
    )
    .await;
}

#[tokio::test]
async fn a_throttle_that_is_not_atomic_is_caught() {
    assert_caught_by_sign_in(
        Fault::ReadsTheThrottleBeforeTheTransaction,
        sign_in_cases::concurrent_attempts_pass_no_more_often_than_one_after_the_other,
    )
    .await;
}

#[tokio::test]
async fn a_throttle_that_takes_before_it_refuses_is_caught() {
    assert_caught_by_sign_in(
        Fault::TakesFromTheBucketsBeforeAFullOne,
        sign_in_cases::an_attempt_is_taken_from_all_buckets_or_from_none,
    )
    .await;
}

//! Use cases of owners for the keys of all members.

use chrono::TimeDelta;
use keyward_domain::access::AuthenticateError;
use std::num::NonZeroU32;
use std::sync::Arc;

use keyward_domain::administration::ports::{
    CutoffTooRecent, KeySelection, MockOrganizationKeyStore, OrganizationKeyFilter, OrganizationKeyStore,
    RevokeKeysError,
};
use keyward_domain::administration::{Authority, OrganizationKeys, RevokedKeys, StopReason, Stopped};
use keyward_domain::api_key::{Revocation, RevocationNote, RevocationReason};
use keyward_domain::audit::{Actor, RequestSource};
use keyward_domain::clock::Clock;
use keyward_domain::keys::IssuedKey;
use keyward_domain::membership::{Member, Role};
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::{DescendantKeys, StatusFilter, StorageError};
use keyward_domain::testing::TestInstallation;
use keyward_domain::validity::End;

struct Scene {
    installation: TestInstallation,
    ada: Member,
    bob: Member,
    his: IssuedKey,
}

async fn scene() -> Scene {
    let installation = TestInstallation::new();
    let acme = installation.organization("Acme");
    let ada = installation.member(&acme, "ada", Role::Owner);
    let bob = installation.member(&acme, "bob", Role::Member);
    let his = installation.issue(&bob.as_holder(), "his").await;
    Scene {
        installation,
        ada,
        bob,
        his,
    }
}

impl Scene {
    async fn revoke(&self, authority: &Authority, note: Option<RevocationNote>) -> Revocation {
        let selection = KeySelection::Keys {
            ids: vec![self.his.key.id],
            descendants: DescendantKeys::Keep,
        };
        let keys = self.installation.organization_keys();
        let source = RequestSource::default();
        let revoked = keys.revoke(authority, selection, note, source, None).await;
        let expected = RevokedKeys {
            first: Some(self.his.key.id),
            count: 1,
        };
        assert_eq!(revoked.expect("revoked"), expected);
        let token = self.his.token.expose();
        let refused = self.installation.authenticate().caller(token, None).await;
        assert!(
            matches!(refused, Err(AuthenticateError::InvalidToken)),
            "{refused:?}"
        );
        let (holder, keys) = (self.bob.as_holder(), self.installation.keys());
        let key = keys.read(&holder, self.his.key.id).await;
        let key = key.expect("it is still shown to its holder");
        key.revocation.expect("it is revoked")
    }
}

#[tokio::test]
async fn holder_reads_who_revoked_their_key_and_why() {
    let scene = scene().await;
    let note = RevocationNote::parse("found in a repository").ok();
    let authority = scene
        .ada
        .as_authority(scene.ada.membership.joined_at)
        .expect("an owner");
    let revocation = scene.revoke(&authority, note.clone()).await;
    let expected = Revocation {
        end: End::Come(scene.installation.builder.clock.now()),
        by: Actor::User(scene.ada.user.id),
        reason: RevocationReason::Owner,
        note,
    };
    assert_eq!(revocation, expected);
}

#[tokio::test]
async fn command_line_revocation_is_not_attributed_to_an_owner() {
    let scene = scene().await;
    let authority = Authority::of_administrator(scene.ada.organization.id);
    let revocation = scene.revoke(&authority, None).await;
    assert_eq!(
        (revocation.by, revocation.reason),
        (Actor::Administrator, RevocationReason::Administrator)
    );
}

#[tokio::test]
async fn inactivity_filter_finds_only_keys_created_before_its_cutoff() {
    let scene = scene().await;
    let keys = scene.installation.organization_keys();
    let authority = scene
        .ada
        .as_authority(scene.ada.membership.joined_at)
        .expect("an owner");
    let unused = async |days: u16| {
        let now = scene.installation.now();
        let since = now - TimeDelta::days(days.into());
        let filter = OrganizationKeyFilter::new(StatusFilter::Valid, None).unused_since(since);
        let request = PageRequest::first(PageSize::ONE);
        let page = keys.list(&authority, filter, request, now).await;
        page.expect("the store answers").items.len()
    };
    scene.installation.builder.clock.advance(TimeDelta::days(30));
    assert_eq!(unused(30).await, 0, "it is no older than that");
    scene
        .installation
        .builder
        .clock
        .advance(TimeDelta::milliseconds(1));
    assert_eq!((unused(30).await, unused(31).await), (1, 0));
    assert_eq!(unused(u16::MAX).await, 0);
}

/// The use case over a store of which the n-th revocation takes seconds, or fails.
fn in_twos(
    scene: &Scene,
    batch_fails: impl Fn(u32) -> Option<RevokeKeysError> + Send + Sync + 'static,
) -> OrganizationKeys {
    let keys = in_batches(scene, move |number, _| batch_fails(number));
    keys.with_batch_size(NonZeroU32::new(2).expect("two"))
}

/// The same, but a batch fails by its number and its size.
fn in_batches(
    scene: &Scene,
    batch_fails: impl Fn(u32, u32) -> Option<RevokeKeysError> + Send + Sync + 'static,
) -> OrganizationKeys {
    let (store, clock) = (
        scene.installation.store.clone(),
        Arc::clone(&scene.installation.builder.clock),
    );
    let batches = std::sync::atomic::AtomicU32::new(0);
    let mut slow = MockOrganizationKeyStore::new();
    slow.expect_revoke()
        .returning(move |organization, selection, at_most, reason, note, act| {
            let number = batches.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if let Some(error) = batch_fails(number, at_most.get()) {
                return Err(error);
            }
            clock.advance(TimeDelta::seconds(3));
            let revoking =
                OrganizationKeyStore::revoke(&store, organization, selection, at_most, reason, note, act);
            futures_util::FutureExt::now_or_never(revoking).expect("memory does not wait")
        });
    let sources = scene.installation.builder.sources.clone();
    OrganizationKeys::new(Arc::new(slow), sources)
}

impl Scene {
    /// He has five keys.
    async fn with_five() -> (Self, KeySelection) {
        let scene = scene().await;
        for number in 2..=5 {
            scene
                .installation
                .issue(&scene.bob.as_holder(), &format!("key {number}"))
                .await;
        }
        let selection = KeySelection::OfConsumer(scene.bob.membership.id);
        (scene, selection)
    }

    async fn revoke_in_twos(
        &self,
        keys: &OrganizationKeys,
        selection: &KeySelection,
        time_budget: Option<TimeDelta>,
    ) -> Result<u32, Stopped<RevokedKeys, RevokeKeysError>> {
        let authority = self
            .ada
            .as_authority(self.ada.membership.joined_at)
            .expect("an owner");
        let source = RequestSource::default();
        let revoked = keys
            .revoke(&authority, selection.clone(), None, source, time_budget)
            .await;
        revoked.map(|revoked| revoked.count)
    }
}

#[tokio::test]
async fn bulk_revocation_continues_until_no_valid_key_is_left() {
    let (scene, selection) = Scene::with_five().await;
    let keys = in_twos(&scene, |_| None);
    let revoked = scene.revoke_in_twos(&keys, &selection, None).await;
    assert_eq!(revoked.expect("revoked"), 5);
    let again = scene.revoke_in_twos(&keys, &selection, None).await;
    assert_eq!(again.expect("nothing is left"), 0);
}

#[tokio::test]
async fn bulk_revocation_reports_progress_at_its_time_budget_and_resumes() {
    let (scene, selection) = Scene::with_five().await;
    let keys = in_twos(&scene, |_| None);
    let time_budget = Some(TimeDelta::seconds(4));
    let stopped = scene.revoke_in_twos(&keys, &selection, time_budget).await;
    let stopped = stopped.expect_err("two batches take six seconds");
    assert_eq!(
        (stopped.progress.count, stopped.progress.first),
        (4, Some(scene.his.key.id))
    );
    assert!(
        matches!(stopped.why, StopReason::TimeBudgetExceeded),
        "{stopped:?}"
    );
    let rest = scene.revoke_in_twos(&keys, &selection, time_budget).await;
    assert_eq!(rest.expect("the rest is revoked"), 1);
}

#[tokio::test]
async fn keys_revoked_before_a_failure_are_counted() {
    let (scene, selection) = Scene::with_five().await;
    let keys = in_twos(&scene, |batch| {
        [1, 2]
            .contains(&batch)
            .then(|| StorageError::Unavailable("it is restarted".into()).into())
    });
    let stopped = scene.revoke_in_twos(&keys, &selection, None).await;
    let stopped = stopped.expect_err("the second batch fails, also as a smaller one");
    assert_eq!(stopped.progress.count, 2);
    assert!(
        matches!(stopped.why, StopReason::Refused(RevokeKeysError::Storage(_))),
        "{stopped:?}"
    );
    let rest = scene.revoke_in_twos(&keys, &selection, None).await;
    assert_eq!(rest.expect("the rest is revoked"), 3);
}

#[tokio::test]
async fn batches_too_large_for_a_slow_store_are_halved() {
    let (scene, selection) = Scene::with_five().await;
    let keys = in_batches(&scene, |_, size| {
        (size > 2).then(|| StorageError::Unavailable("it takes too long".into()).into())
    });
    for (size, revoked) in [(64, 0), (32, 5)] {
        let keys = keys.clone().with_batch_size(NonZeroU32::new(size).expect("some"));
        let outcome = scene.revoke_in_twos(&keys, &selection, None).await;
        let count = outcome.unwrap_or_else(|stopped| stopped.progress.count);
        assert_eq!(count, revoked, "batches of {size}, {} at least", size / 16);
    }
}

#[tokio::test]
async fn cutoff_time_selecting_keys_is_at_least_one_minute_old() {
    let scene = scene().await;
    let keys = scene.installation.organization_keys();
    let now = scene.installation.builder.clock.now();
    assert!(keys.issued_before(now - TimeDelta::minutes(1)).is_ok());
    for too_late in [now - TimeDelta::seconds(59), now, now + TimeDelta::days(1)] {
        assert_eq!(keys.issued_before(too_late), Err(CutoffTooRecent));
    }
}

//! What owners do with the keys of all members.

use chrono::TimeDelta;
use keyward_domain::access::AuthenticateError;
use keyward_domain::administration::Authority;
use keyward_domain::administration::ports::{KeySelection, OrganizationKeyFilter};
use keyward_domain::api_key::{Revocation, RevocationNote, RevocationReason};
use keyward_domain::audit::{Actor, RequestSource};
use keyward_domain::clock::Clock;
use keyward_domain::keys::IssuedKey;
use keyward_domain::membership::{Member, Role};
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::{DescendantKeys, StatusFilter};
use keyward_domain::testing::TestInstallation;

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
        let revoked = keys.revoke(authority, selection, note, source).await;
        assert_eq!(revoked.expect("revoked"), [self.his.key.id]);
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
async fn a_holder_reads_who_revoked_their_key_and_why() {
    let scene = scene().await;
    let note = RevocationNote::parse("found in a repository").ok();
    let authority = scene.ada.as_authority().expect("an owner");
    let revocation = scene.revoke(&authority, note.clone()).await;
    let expected = Revocation {
        at: scene.installation.builder.clock.now(),
        by: Actor::User(scene.ada.user.id),
        reason: RevocationReason::Owner,
        note,
    };
    assert_eq!(revocation, expected);
}

#[tokio::test]
async fn what_the_command_line_revokes_is_no_owners_act() {
    let scene = scene().await;
    let authority = Authority::of_administrator(scene.ada.organization.id);
    let revocation = scene.revoke(&authority, None).await;
    assert_eq!(
        (revocation.by, revocation.reason),
        (Actor::Administrator, RevocationReason::Administrator)
    );
}

#[tokio::test]
async fn days_are_counted_back_from_now() {
    let scene = scene().await;
    let keys = scene.installation.organization_keys();
    let authority = scene.ada.as_authority().expect("an owner");
    let unused = async |days| {
        let filter = OrganizationKeyFilter::new(StatusFilter::Valid, None).unused_since(keys.days_ago(days));
        let request = PageRequest {
            size: PageSize::ONE,
            after: None,
        };
        let page = keys.list(&authority, filter, request).await;
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

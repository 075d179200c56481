//! Audit events of uses of keys that no longer work.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use keyward_domain::access::{Authenticate, AuthenticateError};
use keyward_domain::administration::AuditTrail;
use keyward_domain::api_key::KeyPrecondition;
use keyward_domain::audit::{Action, Actor, AuditEvent, Outcome, RequestSource, Subject};
use keyward_domain::clock::Clock;
use keyward_domain::id::{MembershipId, OrganizationId};
use keyward_domain::keys::IssuedKey;
use keyward_domain::membership::{Member, Role};
use keyward_domain::organization::Organization;
use keyward_domain::page::Page;
use keyward_domain::ports::{AuditPosition, DescendantKeys, MockAuditLog, StorageError};
use keyward_domain::refused_uses::{RefusedUse, RefusedUseReports, RefusedUses};
use keyward_domain::sign_in::ports::MockLimitedAuditLog;
use keyward_domain::testing::{SeededRandom, TestInstallation};
use keyward_domain::token::Token;

const FROM: [u8; 4] = [203, 0, 113, 7];

/// A server that notes refused uses, and reports them.
struct Server {
    uses: Arc<RefusedUses>,
    authenticate: Authenticate,
    reports: RefusedUseReports,
}

impl Server {
    fn of(installation: &TestInstallation) -> Self {
        Self::with_capacity(installation, 10_000)
    }

    fn with_capacity(installation: &TestInstallation, capacity: usize) -> Self {
        let uses = Arc::new(RefusedUses::new(capacity));
        let store = Arc::new(installation.store.clone());
        Self {
            authenticate: installation.authenticate().with_refused_uses(Arc::clone(&uses)),
            reports: RefusedUseReports::new(Arc::clone(&uses), store, installation.builder.sources.clone()),
            uses,
        }
    }

    async fn refuse(&self, token: &Token) {
        let refused = self.authenticate.caller(token.expose(), Some(FROM.into())).await;
        assert!(
            matches!(refused, Err(AuthenticateError::InvalidToken)),
            "{refused:?}"
        );
    }

    async fn write(&self) -> usize {
        self.reports.write().await.expect("the store answers")
    }
}

fn installation() -> (TestInstallation, Organization, Member) {
    let installation = TestInstallation::new();
    let acme = installation.organization("Acme");
    let ada = installation.member(&acme, "ada", Role::Member);
    (installation, acme, ada)
}

async fn revoke(installation: &TestInstallation, member: &Member, key: &IssuedKey) {
    installation
        .keys()
        .revoke(
            &member.as_holder(),
            key.key.id,
            DescendantKeys::Keep,
            KeyPrecondition::AnyVersion,
            RequestSource::default(),
        )
        .await
        .expect("revoked");
}

fn reported(installation: &TestInstallation) -> Vec<AuditEvent> {
    let mut events = installation.store.events();
    events.retain(|event| event.action == Action::UseApiKey);
    events
}

/// Uses of as many keys, which no longer work, all at once.
fn uses(
    installation: &TestInstallation,
    organization: OrganizationId,
    count: usize,
    at: DateTime<Utc>,
) -> Vec<RefusedUse> {
    let consumer: MembershipId = installation.builder.ids.next();
    let used = |_| RefusedUse {
        key: installation.builder.ids.next(),
        consumer,
        organization,
        at,
        from: None,
    };
    (0..count).map(used).collect()
}

#[tokio::test]
async fn use_of_a_revoked_key_is_reported_hourly() {
    let (installation, acme, ada) = installation();
    let key = installation.issue(&ada.as_holder(), "Deploy").await;
    revoke(&installation, &ada, &key).await;
    let server = Server::of(&installation);
    for (minutes, expected) in [(0, 1), (1, 1), (58, 1), (1, 2), (59, 2), (1, 3)] {
        installation.builder.clock.advance(TimeDelta::minutes(minutes));
        for _ in 0..3 {
            server.refuse(&key.token).await;
            server.write().await;
        }
        assert_eq!(reported(&installation).len(), expected, "{minutes} minutes later");
    }
    let event = &reported(&installation)[0];
    assert_eq!(event.organization_id, Some(acme.id));
    assert_eq!((event.actor, event.outcome), (Actor::Anonymous, Outcome::Refused));
    assert_eq!(event.subject, Subject::ApiKey(key.key.id));
    assert_eq!(event.object, Some(Subject::Membership(ada.membership.id)));
    assert_eq!(event.source.address, Some(FROM.into()));
}

#[tokio::test]
async fn use_of_a_former_members_key_is_reported_hourly() {
    let (installation, acme, ada) = installation();
    let key = installation.issue(&ada.as_holder(), "Deploy").await;
    let now = installation.builder.clock.now();
    installation.store.end_membership(ada.membership.id, now);
    let server = Server::of(&installation);
    server.refuse(&key.token).await;
    assert_eq!(server.write().await, 1);
    let events = reported(&installation);
    assert_eq!(events[0].organization_id, Some(acme.id));
    assert_eq!(events[0].subject, Subject::ApiKey(key.key.id));
}

#[tokio::test]
async fn accepted_and_unknown_tokens_are_not_reported() {
    let (installation, _, ada) = installation();
    let key = installation.issue(&ada.as_holder(), "Deploy").await;
    let server = Server::of(&installation);
    let accepted = server.authenticate.caller(key.token.expose(), None).await;
    accepted.expect("an accepted token");
    server.refuse(&Token::generate(&SeededRandom::new(7))).await;
    assert_eq!(server.write().await, 0);
    assert!(reported(&installation).is_empty());
}

#[tokio::test]
async fn one_of_several_servers_reports_a_refused_use() {
    let (installation, _, ada) = installation();
    let key = installation.issue(&ada.as_holder(), "Deploy").await;
    revoke(&installation, &ada, &key).await;
    let servers = [Server::of(&installation), Server::of(&installation)];
    for _ in 0..2 {
        for server in &servers {
            server.refuse(&key.token).await;
        }
        for server in &servers {
            server.write().await;
        }
    }
    assert_eq!(reported(&installation).len(), 1);
}

#[tokio::test]
async fn many_revoked_keys_do_not_flood_their_organizations_log() {
    let (installation, acme, _) = installation();
    let other = installation.organization("Other");
    let server = Server::of(&installation);
    let clock = &installation.builder.clock;
    let keys = uses(&installation, acme.id, 3_000, clock.now());
    let elsewhere = uses(&installation, other.id, 1, clock.now());
    for seconds in 0..3_600_u32 {
        let at = clock.now();
        for used in keys.iter().skip((seconds as usize * 10) % 3_000).take(10) {
            server.uses.note(RefusedUse { at, ..*used });
        }
        if seconds == 1_800 {
            server.uses.note(RefusedUse { at, ..elsewhere[0] });
        }
        if seconds % 5 == 0 {
            server.write().await;
        }
        clock.advance(TimeDelta::seconds(1));
    }
    let events = reported(&installation);
    let of = |id| {
        events
            .iter()
            .filter(move |event| event.organization_id == Some(id))
    };
    assert_eq!(of(other.id).count(), 1, "others are told as ever");
    let (more, single): (Vec<_>, Vec<_>) =
        of(acme.id).partition(|event| event.subject == Subject::Organization(acme.id));
    assert!((190..=200).contains(&single.len()), "{}", single.len());
    assert_eq!(more.len(), 1);
    assert_eq!(more[0].object, None);
}

#[tokio::test]
async fn dead_keys_of_one_holder_hide_no_use_of_anothers() {
    let (installation, acme, _) = installation();
    let server = Server::of(&installation);
    let clock = &installation.builder.clock;
    let of_one = uses(&installation, acme.id, 240, clock.now());
    let of_another = uses(&installation, acme.id, 1, clock.now())[0];
    for seconds in 0..600_usize {
        let at = clock.now();
        for used in of_one.iter().cycle().skip(seconds * 11).take(11) {
            server.uses.note(RefusedUse { at, ..*used });
        }
        if seconds == 300 {
            server.uses.note(RefusedUse { at, ..of_another });
        }
        if seconds % 5 == 0 {
            server.write().await;
        }
        clock.advance(TimeDelta::seconds(1));
    }
    let used = Subject::ApiKey(of_another.key);
    let events = reported(&installation);
    assert_eq!(events.iter().filter(|event| event.subject == used).count(), 1);
}

#[tokio::test]
async fn dead_keys_of_many_holders_do_not_flood_the_log() {
    let (installation, acme, _) = installation();
    let server = Server::of(&installation);
    let now = installation.builder.clock.now();
    for _ in 0..20 {
        for used in uses(&installation, acme.id, 100, now) {
            server.uses.note(used);
        }
    }
    while server.uses.unwritten() > 0 {
        server.write().await;
    }
    let organization = Subject::Organization(acme.id);
    let (more, single): (Vec<_>, Vec<_>) = reported(&installation)
        .into_iter()
        .partition(|event| event.subject == organization);
    assert_eq!((single.len(), more.len()), (1_000, 1));
}

#[tokio::test]
async fn dead_keys_of_one_organization_leave_room_to_others() {
    let (installation, acme, _) = installation();
    let other = installation.organization("Other");
    let server = Server::with_capacity(&installation, 5_000);
    let now = installation.builder.clock.now();
    for _ in 0..60 {
        for used in uses(&installation, acme.id, 100, now) {
            server.uses.note(used);
        }
    }
    let elsewhere = uses(&installation, other.id, 1, now)[0];
    server.uses.note(elsewhere);
    assert_eq!(server.uses.take_dropped(), 0);
    for _ in 0..6 {
        server.write().await;
    }
    let used = Subject::ApiKey(elsewhere.key);
    assert!(reported(&installation).iter().any(|event| event.subject == used));
}

#[tokio::test]
async fn unreported_uses_are_queued() {
    let (installation, _, ada) = installation();
    let key = installation.issue(&ada.as_holder(), "Deploy").await;
    revoke(&installation, &ada, &key).await;
    let server = Server::of(&installation);
    server.refuse(&key.token).await;
    let used_at = installation.builder.clock.now();
    installation.store.go_down();
    for _ in 0..3 {
        let failed = server.reports.write().await;
        assert!(matches!(failed, Err(StorageError::Unavailable(_))), "{failed:?}");
        installation.builder.clock.advance(TimeDelta::minutes(1));
    }
    installation.store.come_back();
    server.refuse(&key.token).await;
    assert_eq!(server.write().await, 1);
    assert_eq!(server.write().await, 0);
    assert_eq!(reported(&installation)[0].at, used_at);
}

#[tokio::test]
async fn uses_in_a_write_that_panics_are_reported_later() {
    let (installation, acme, _) = installation();
    let server = Server::of(&installation);
    for used in uses(&installation, acme.id, 3, installation.builder.clock.now()) {
        server.uses.note(used);
    }
    let mut log = MockLimitedAuditLog::new();
    log.expect_record_within().returning(|_, _, _| panic!("a defect"));
    let sources = installation.builder.sources.clone();
    let reports = RefusedUseReports::new(Arc::clone(&server.uses), Arc::new(log), sources);
    let panicked = tokio::spawn(async move { reports.write().await }).await;
    assert!(panicked.is_err(), "{panicked:?}");
    assert_eq!(server.uses.unwritten(), 3);
    assert_eq!(server.write().await, 3);
}

#[tokio::test]
async fn use_rejected_by_the_store_keeps_no_other_unreported() {
    let (installation, acme, _) = installation();
    let noted = Arc::new(RefusedUses::new(10));
    let keys = uses(&installation, acme.id, 3, installation.builder.clock.now());
    let rejected = Subject::ApiKey(keys[1].key);
    for used in keys {
        noted.note(used);
    }
    let mut log = MockLimitedAuditLog::new();
    log.expect_record_within()
        .times(3)
        .returning(move |_, events, _| {
            if events[0].subject == rejected {
                Err(StorageError::Defect("damaged".into()))
            } else {
                Ok(None)
            }
        });
    let sources = installation.builder.sources.clone();
    let reports = RefusedUseReports::new(Arc::clone(&noted), Arc::new(log), sources);
    let written = reports.write().await;
    assert!(matches!(written, Err(StorageError::Defect(_))), "{written:?}");
    assert_eq!(noted.unwritten(), 0);
}

#[tokio::test]
async fn queue_of_unreported_uses_is_bounded() {
    let (installation, acme, _) = installation();
    let server = Server::with_capacity(&installation, 10);
    let now = installation.builder.clock.now();
    let keys = uses(&installation, acme.id, 15, now);
    for used in keys.iter().chain(&keys) {
        server.uses.note(*used);
    }
    assert_eq!((server.uses.take_dropped(), server.uses.take_dropped()), (10, 0));
    assert_eq!(server.write().await, 10);
}

#[tokio::test]
async fn holders_see_recent_refused_uses_of_own_keys() {
    let (installation, acme, ada) = installation();
    let bob = installation.member(&acme, "bob", Role::Member);
    let server = Server::of(&installation);
    let clock = &installation.builder.clock;
    for name in ["First", "Second"] {
        let key = installation.issue(&ada.as_holder(), name).await;
        revoke(&installation, &ada, &key).await;
        server.refuse(&key.token).await;
        server.write().await;
        clock.advance(TimeDelta::days(4));
    }
    let trail = installation.audit_trail();
    let seen_by = async |member: &Member| {
        let page = trail.refused_uses(member).await.expect("a page");
        let names = page.events.items.iter();
        names
            .map(|event| page.names[&event.subject].name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(seen_by(&ada).await, ["Second"], "of the last 7 days");
    assert!(seen_by(&bob).await.is_empty());
}

#[tokio::test]
async fn refused_uses_are_searched_for_until_enough_are_found() {
    let (installation, _, ada) = installation();
    let used = |key| {
        let act = installation.builder.act(Actor::Anonymous);
        act.event(Action::UseApiKey, Subject::ApiKey(key))
    };
    let events: Vec<AuditEvent> = (0..7).map(|_| used(installation.builder.ids.next())).collect();
    let pages = [&events[..0], &events[..2], &events[2..4], &events[4..7]];
    let mut pages = pages.map(<[AuditEvent]>::to_vec).into_iter();
    let end = AuditPosition::from(&events[0]);
    let mut log = MockAuditLog::new();
    log.expect_list().times(4).returning(move |_, _, page| {
        let items = pages.next().expect("no further page");
        assert!(page.after.is_none_or(|after| after == end));
        Ok(Page {
            items,
            next: Some(end),
        })
    });
    let store = Arc::new(installation.store.clone());
    let trail = AuditTrail::new(
        Arc::new(log),
        Arc::clone(&store) as _,
        store,
        installation.builder.sources.clone(),
    );
    let page = trail.refused_uses(&ada).await.expect("a page");
    assert_eq!(page.events.items, events[..5]);
}

#[tokio::test]
async fn use_is_reported_again_after_the_clock_was_set_back() {
    let (installation, _, ada) = installation();
    let key = installation.issue(&ada.as_holder(), "key").await;
    revoke(&installation, &ada, &key).await;
    let (server, clock) = (Server::of(&installation), &installation.builder.clock);
    let ahead = TimeDelta::days(2);
    clock.advance(ahead);
    server.refuse(&key.token).await;
    assert_eq!(server.write().await, 1);
    clock.advance(-ahead);
    server.refuse(&key.token).await;
    assert_eq!(server.write().await, 1);
}

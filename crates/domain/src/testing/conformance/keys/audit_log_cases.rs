//! Cases of [`AuditLog`](crate::ports::AuditLog).

use chrono::TimeDelta;
use futures_util::future::BoxFuture;

use super::super::KeyStores;
use super::super::pages::{MORE_THAN_A_HUNDRED, all_pages, size_of};
use super::super::scene::{Scene, ids_of};
use crate::audit::{Action, Actor, AuditEvent, Outcome, RequestSource, Subject};
use crate::id::OrganizationId;
use crate::page::{Page, PageRequest, PageSize};
use crate::ports::{AuditFilter, AuditPosition};

pub(super) async fn every_kind_of_event_reads_back_as_recorded(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let before = scene.events(None).await.len();
    let actions = Action::ALL;
    let actors = [
        Actor::User(ada.user.id),
        Actor::ApiKey(scene.id()),
        Actor::Administrator,
        Actor::Anonymous,
    ];
    let subjects = [
        Subject::Installation,
        Subject::Organization(ada.organization.id),
        Subject::User(ada.user.id),
        Subject::Membership(ada.membership.id),
        Subject::Invitation(scene.id()),
        Subject::Project(scene.id()),
        Subject::ApiKey(scene.id()),
        Subject::Session(scene.id()),
    ];
    let objects = [
        None,
        Some(Subject::Project(scene.id())),
        Some(Subject::Membership(scene.id())),
    ];
    let sources = [
        RequestSource::default(),
        RequestSource {
            address: Some([203, 0, 113, 9].into()),
            request_id: None,
        },
        RequestSource {
            address: Some([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0x1f].into()),
            request_id: Some("0198c0de-0000-7000-8000-000000000000".to_owned()),
        },
    ];
    let values = [None, Some("2026-01-31T09:00:00.123Z"), Some("P90D")];
    // Each value of each field in turn; the other fields go round with it.
    let mut recorded = Vec::new();
    for number in 0..actions.len().max(subjects.len()) {
        let action = actions[number % actions.len()];
        let actor = match action {
            // Only the system does these.
            Action::RemoveAuditEvents | Action::ExpireApiKey | Action::ExpireMembership => Actor::System,
            _ => actors[number % actors.len()],
        };
        for outcome in [Outcome::Success, Outcome::Refused] {
            let event = AuditEvent {
                id: scene.id(),
                at: scene.now(),
                organization_id: None,
                actor,
                action,
                subject: subjects[number % subjects.len()],
                object: objects[number % objects.len()],
                old_value: values[number % values.len()].map(str::to_owned),
                new_value: values[(number + 1) % values.len()].map(str::to_owned),
                outcome,
                source: sources[number % sources.len()].clone(),
            };
            record(&scene, &event).await;
            recorded.push(event);
        }
    }
    recorded.reverse();

    let mut events = scene.events(None).await;
    events.truncate(events.len() - before);
    assert_eq!(events, recorded);
}

pub(super) async fn event_is_listed_in_its_organization_only(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let other = scene.add_organization("Difference Engines").await;
    let places = [Some(ada.organization.id), Some(other.id), None];
    let recorded = places.map(|organization_id| {
        scene
            .act_as(Actor::Administrator, organization_id)
            .event(Action::SignIn, Subject::User(ada.user.id))
    });
    for event in &recorded {
        record(&scene, event).await;
    }
    for (place, event) in places.into_iter().zip(recorded) {
        let events = scene
            .events_about(place, Action::SignIn, Subject::User(ada.user.id))
            .await;
        assert_eq!(events, [scene.as_shown(event).await]);
    }
}

pub(super) async fn pages_of_events_form_the_whole_log(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let organization = Some(scene.add_organization("Difference Engines").await.id);
    let mut recorded = Vec::new();
    for _ in 0..5 {
        let event = scene
            .act_as(Actor::Anonymous, organization)
            .event(Action::SignIn, Subject::Installation);
        record(&scene, &event).await;
        recorded.push(event);
        // Others come between.
        let act = scene.act(&ada);
        record(&scene, &act.event(Action::SignOut, Subject::User(ada.user.id))).await;
    }
    recorded.reverse();
    for size in 1..=6 {
        let mut seen = Vec::new();
        let mut after = None;
        loop {
            let page = page_of(&scene, organization, size, after).await;
            assert!(page.items.len() <= usize::from(size), "no page is over its size");
            seen.extend(page.items);
            let last = seen.last().map(AuditPosition::from);
            assert!(
                page.next.is_none() || page.next == last,
                "a page goes on after its last item"
            );
            assert!(page.next.is_none() || page.next != after, "each page leads on");
            assert!(seen.len() <= recorded.len(), "no event is shown twice");
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(ids_of(&seen), ids_of(&recorded), "pages of {size}");
    }
}

pub(super) async fn log_continues_beyond_100_events(stores: KeyStores) {
    let scene = Scene::new(stores);
    let act = scene.act_as(Actor::Anonymous, None);
    let events = || act.refusal(Action::SignIn, Subject::Installation);
    let mut recorded: Vec<AuditEvent> = std::iter::repeat_with(events).take(MORE_THAN_A_HUNDRED).collect();
    let recording = recorded.clone().into_iter().map(|event| {
        let scene = scene.clone();
        let task: BoxFuture<'static, ()> = Box::pin(async move { record(&scene, &event).await });
        task
    });
    scene.in_parallel(recording).await;
    recorded.reverse();

    let log = &scene.stores.audit_log;
    let everything = AuditFilter::default;
    for filter in [
        everything(),
        AuditFilter {
            actor: Some(Actor::Anonymous),
            ..everything()
        },
        AuditFilter {
            action: Some(Action::SignIn),
            ..everything()
        },
        AuditFilter {
            subject: Some(Subject::Installation),
            ..everything()
        },
        AuditFilter {
            from: Some(scene.now()),
            ..everything()
        },
    ] {
        for size in [size_of(PageSize::MAX), PageSize::EXPORT] {
            let listed = all_pages(size, |page| log.list(None, filter.clone(), page)).await;
            let (listed, recorded) = (ids_of(&listed), ids_of(&recorded));
            assert_eq!(listed, recorded, "{filter:?} in pages of {}", size.items());
        }
    }
}

pub(super) async fn event_page_continues_after_an_unknown_identifier(stores: KeyStores) {
    let scene = Scene::new(stores);
    let act = scene.act_as(Actor::Anonymous, None);
    let older = act.refusal(Action::SignIn, Subject::Installation);
    let between = AuditPosition {
        at: scene.now(),
        id: scene.id(),
    };
    let newer = act.refusal(Action::SignIn, Subject::Installation);
    for event in [&older, &newer] {
        record(&scene, event).await;
    }
    let page = page_of(&scene, None, 50, Some(between)).await;

    assert_eq!(ids_of(&page.items), [older.id]);
    assert_eq!(page.next, None);
}

pub(super) async fn events_are_ordered_by_time_then_identifier(stores: KeyStores) {
    let scene = Scene::new(stores);
    let act = scene.act_as(Actor::Anonymous, None);
    let [first, second, third] = [(); 3].map(|()| act.refusal(Action::SignIn, Subject::Installation));
    // Written last, by a server whose clock is behind.
    let [early, later_of_early] = [(); 2].map(|()| AuditEvent {
        at: first.at - TimeDelta::milliseconds(1),
        ..act.refusal(Action::SignIn, Subject::Installation)
    });
    for event in [&second, &early, &third, &later_of_early, &first] {
        record(&scene, event).await;
    }

    let expected = [third, second, first, later_of_early, early].map(|event| event.id);
    assert_eq!(ids_of(&scene.events(None).await), expected);
    let mut after = None;
    for event in expected {
        let page = page_of(&scene, None, 1, after).await;
        assert_eq!(ids_of(&page.items), [event]);
        after = page.next;
    }
    assert_eq!(after, None);
}

pub(super) async fn recorded_event_is_never_replaced(stores: KeyStores) {
    let scene = Scene::new(stores);
    let first = scene
        .act_as(Actor::Anonymous, None)
        .refusal(Action::SignIn, Subject::Installation);
    record(&scene, &first).await;
    let recorded = scene.events(None).await;
    let forged = AuditEvent {
        outcome: Outcome::Success,
        ..first
    };

    assert!(scene.stores.audit_log.record(forged).await.is_err());
    assert_eq!(scene.events(None).await, recorded);
}

async fn record(scene: &Scene, event: &AuditEvent) {
    scene
        .stores
        .audit_log
        .record(event.clone())
        .await
        .expect("recorded");
}

async fn page_of(
    scene: &Scene,
    organization: Option<OrganizationId>,
    size: u16,
    after: Option<AuditPosition>,
) -> Page<AuditEvent, AuditPosition> {
    let request = PageRequest {
        size: PageSize::new(size).expect("a page size"),
        after,
    };
    scene
        .stores
        .audit_log
        .list(organization, AuditFilter::default(), request)
        .await
        .expect("the audit log answers")
}

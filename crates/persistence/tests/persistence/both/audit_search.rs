//! A search of the audit log by two criteria that many events meet, and few together.

use chrono::TimeDelta;
use keyward_domain::audit::{Action, Actor, AuditEvent, Subject};
use keyward_domain::clock::Clock;
use keyward_domain::id::OrganizationId;
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::{AuditFilter, AuditLog, AuditPosition};

use crate::both::scene::Scene;
use crate::database::Database;

on_both!(
    rare_criteria_pair_is_found_over_bounded_pages,
    a_selective_criterion_is_searched_to_the_end_at_once,
    rare_events_of_the_installation_are_found_over_bounded_pages,
);

/// More events of each criterion than are read for one page.
const MANY: usize = 6_000;

/// One edit by ada, then many creations by her, then many edits by others.
async fn scene_of_many(database: Database) -> (Scene, AuditEvent) {
    let scene = Scene::new(database).await;
    let mut act = scene.make.act(Actor::User(scene.ada.user.id));
    act.organization_id = Some(scene.ada.organization.id);
    let edit = act.event(Action::EditApiKey, Subject::Membership(scene.ada.membership.id));
    AuditLog::record(&*scene.database.store, edit.clone())
        .await
        .expect("an event");
    let database = &scene.database;
    let (id, series) = (database.new_id(), database.series(MANY));
    let organization = database.id(scene.ada.organization.id.as_uuid());
    let ada = database.id(scene.ada.user.id.as_uuid());
    for (actor, action) in [(ada.as_str(), Action::CreateApiKey), (id, Action::EditApiKey)] {
        scene.make.clock.advance(TimeDelta::seconds(1));
        let at = database.moment(scene.make.clock.now());
        database
            .execute(&format!(
                "INSERT INTO audit_events (id, occurred_at, organization_id, actor_kind, actor_id, action, subject_kind,
                     subject_id, outcome)
                 SELECT {id}, {at}, {organization}, 'user', {actor}, '{}', 'user', {id}, 'success' FROM {series}",
                action.as_str()
            ))
            .await;
    }
    if database.is_postgres() {
        database.execute("VACUUM ANALYZE audit_events").await;
    }
    (scene, edit)
}

async fn page(
    scene: &Scene,
    filter: &AuditFilter,
    after: Option<AuditPosition>,
) -> (Vec<AuditEvent>, Option<AuditPosition>) {
    page_of(scene, Some(scene.ada.organization.id), filter, after).await
}

async fn page_of(
    scene: &Scene,
    organization: Option<OrganizationId>,
    filter: &AuditFilter,
    after: Option<AuditPosition>,
) -> (Vec<AuditEvent>, Option<AuditPosition>) {
    let request = PageRequest {
        size: PageSize::DEFAULT,
        after,
    };
    let page = AuditLog::list(&*scene.database.store, organization, filter.clone(), request).await;
    let page = page.expect("a page");
    (page.items, page.next)
}

async fn rare_criteria_pair_is_found_over_bounded_pages(database: Database) {
    let (scene, edit) = scene_of_many(database).await;
    let filter = AuditFilter {
        actor: Some(Actor::User(scene.ada.user.id)),
        action: Some(Action::EditApiKey),
        ..AuditFilter::default()
    };
    let (events, next) = page(&scene, &filter, None).await;
    assert!(events.is_empty(), "{events:?}");
    let next = next.expect("the search stopped before the last event");
    let (events, next) = page(&scene, &filter, Some(next)).await;
    assert_eq!((events, next), (vec![edit], None));
}

async fn a_selective_criterion_is_searched_to_the_end_at_once(database: Database) {
    let (scene, edit) = scene_of_many(database).await;
    for filter in [
        AuditFilter {
            action: Some(Action::EditApiKey),
            subject: Some(Subject::Membership(scene.ada.membership.id)),
            ..AuditFilter::default()
        },
        AuditFilter {
            actor: Some(Actor::User(scene.ada.user.id)),
            action: Some(Action::EditApiKey),
            subject: Some(Subject::Membership(scene.ada.membership.id)),
            ..AuditFilter::default()
        },
    ] {
        assert_eq!(page(&scene, &filter, None).await, (vec![edit.clone()], None));
    }
}

async fn rare_events_of_the_installation_are_found_over_bounded_pages(database: Database) {
    let scene = Scene::new(database).await;
    let act = scene.make.act(Actor::User(scene.ada.user.id));
    let change = act.event(Action::ChangePassword, Subject::User(scene.ada.user.id));
    AuditLog::record(&*scene.database.store, change.clone())
        .await
        .expect("an event");
    scene.make.clock.advance(TimeDelta::seconds(1));
    let database = &scene.database;
    let (id, series) = (database.new_id(), database.series(MANY));
    let at = database.moment(scene.make.clock.now());
    let user = database.id(scene.ada.user.id.as_uuid());
    database
        .execute(&format!(
            "INSERT INTO audit_events (id, occurred_at, actor_kind, action, subject_kind, subject_id, outcome)
             SELECT {id}, {at}, 'anonymous', 'session.sign_in', 'user', {user}, 'refused' FROM {series}"
        ))
        .await;
    let of_action = AuditFilter {
        action: Some(Action::ChangePassword),
        ..AuditFilter::default()
    };
    let by_actor = AuditFilter {
        actor: Some(act.actor),
        ..AuditFilter::default()
    };
    let of_both = AuditFilter {
        subject: Some(change.subject),
        ..of_action.clone()
    };
    for filter in [of_action, by_actor, of_both] {
        let (events, next) = page_of(&scene, None, &filter, None).await;
        assert!(events.is_empty(), "{events:?}");
        let mut next = Some(next.expect("the search stopped before the last event"));
        let mut found = Vec::new();
        while let Some(after) = next {
            let (events, then) = page_of(&scene, None, &filter, Some(after)).await;
            found.extend(events);
            next = then;
        }
        assert!(found.contains(&change), "{filter:?}");
    }
}

//! Actions and subjects of a newer version are read as words, without knowing what they mean.

use keyward_domain::audit::{Action, AuditEvent, Outcome, Subject};
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::{AuditFilter, AuditLog};
use uuid::Uuid;

use crate::both::scene::Scene;
use crate::database::Database;

on_both!(
    event_of_a_newer_version_is_listed_and_filtered,
    event_of_a_newer_version_is_transferred_unchanged,
);

/// Records an event as a newer version would, with an action and subjects that this version does not know.
async fn record_newer_event(database: &Database) {
    let (now, id) = if database.is_postgres() {
        ("current_timestamp(3)", "'00000000-0000-7000-8000-00000000beef'")
    } else {
        ("1767225600000", "x'0000000000007000800000000000beef'")
    };
    database
        .execute(&format!(
            "INSERT INTO audit_events (id, occurred_at, organization_id, actor_kind, action, subject_kind, subject_id,
                 outcome, object_kind, object_id)
             SELECT {id}, {now}, organizations.id, 'administrator', 'key_set.rotate', 'key_set', {id}, 'success', 'vault', {id}
             FROM organizations ORDER BY organizations.id LIMIT 1"
        ))
        .await;
}

async fn found(scene: &Scene, filter: AuditFilter) -> Vec<AuditEvent> {
    let page = PageRequest {
        size: PageSize::DEFAULT,
        after: None,
    };
    let organization = Some(scene.ada.organization.id);
    let events = AuditLog::list(&*scene.database.store, organization, filter, page).await;
    events.expect("the log").items
}

async fn event_of_a_newer_version_is_listed_and_filtered(database: Database) {
    let scene = Scene::new(database).await;
    let before = found(&scene, AuditFilter::default()).await.len();
    record_newer_event(&scene.database).await;
    assert_eq!(found(&scene, AuditFilter::default()).await.len(), before + 1);

    let id = Uuid::from_u128(0x0000_0000_0000_7000_8000_0000_0000_beef);
    let action = Action::from_word("key_set.rotate");
    let [set, vault] = ["key_set", "vault"].map(|kind| Subject::from_kind(kind, Some(id)).ok());
    let filters = [
        AuditFilter {
            action,
            ..AuditFilter::default()
        },
        AuditFilter {
            subject: set,
            ..AuditFilter::default()
        },
        AuditFilter {
            subject: vault,
            ..AuditFilter::default()
        },
    ];
    for filter in filters {
        let events = found(&scene, filter).await;
        let [event] = &events[..] else {
            panic!("not one event: {events:?}");
        };
        assert_eq!(Some(event.action), action);
        assert_eq!(event.action.as_str(), "key_set.rotate");
        assert_eq!((Some(event.subject), event.object), (set, vault));
        assert_eq!((event.subject.kind(), event.subject.id()), ("key_set", Some(id)));
        assert_eq!(event.outcome, Outcome::Success);
    }
    let nothing = AuditFilter {
        action: Action::from_word("key_set.melt"),
        ..AuditFilter::default()
    };
    assert_eq!(found(&scene, nothing).await, []);
}

async fn event_of_a_newer_version_is_transferred_unchanged(database: Database) {
    let scene = Scene::new(database).await;
    record_newer_event(&scene.database).await;
    let export = scene.database.export().await;
    assert!(export.contains(r#""action":"key_set.rotate","subject_kind":"key_set""#));
    for other in Database::both().await {
        other.import(export.clone()).await.expect("an import");
        assert!(other.export().await == export);
    }
}

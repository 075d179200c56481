//! A row that breaks a rule of the domain is an error that names it, never a guess and never a panic.

use std::fmt::Debug;

use keyward_domain::administration::ports::{
    KeyTreeSize, MemberFilter, MemberStore, OrganizationKeyFilter, OrganizationKeyStore, ProjectFilter,
    ProjectStore,
};
use keyward_domain::id::ApiKeyId;
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::{
    ApiKeys, AuditFilter, AuditLog, Credentials, KeyFilter, ReachableProjects, StatusFilter, StorageError,
};
use keyward_domain::sign_in::ports::{AccountStore, OpenInvitations, SessionStore};
use keyward_domain::sign_in::session::SessionToken;
use uuid::Uuid;

use crate::both::scene::Scene;
use crate::database::{Database, now};
use crate::schema_file::texts_of_keys;

on_both!(
    corrupt_key_is_named,
    corrupt_users_members_and_organizations_are_named,
    corrupt_invitation_is_named,
    corrupt_project_is_named,
    corrupt_session_is_named,
    corrupt_audit_event_is_named,
);

/// The result of a read, without its value.
type Read = Result<(), StorageError>;

/// Corrupts one row in each of these ways, checks that every reader's error names the column, and repairs the
/// row.
async fn assert_named(
    scene: &Scene,
    (table, id): (&'static str, Uuid),
    spoils: &[(&str, &'static str)],
    readers: impl AsyncFn() -> Vec<Read>,
) {
    let row = scene.database.id(id);
    for (spoil, named) in spoils {
        scene
            .database
            .execute_without_rules(&format!(
                "CREATE TABLE saved AS SELECT * FROM {table} WHERE id = {row};
                 UPDATE {table} SET {spoil} WHERE id = {row}"
            ))
            .await;
        for (position, read) in readers().await.into_iter().enumerate() {
            let what = format!("{table} with {spoil}, reader {position}");
            assert_eq!(corrupt(read), Some((table, *named, id.to_string())), "{what}");
        }
        let mended: Vec<String> = spoil
            .split(", ")
            .filter_map(|assignment| assignment.split_once(" = "))
            .map(|(column, _)| format!("{column} = (SELECT {column} FROM saved)"))
            .collect();
        let mended = mended.join(", ");
        scene
            .database
            .execute_without_rules(&format!(
                "UPDATE {table} SET {mended} WHERE id = {row}; DROP TABLE saved"
            ))
            .await;
    }
    for read in readers().await {
        read.expect("a whole row again");
    }
}

fn corrupt(read: Read) -> Option<(&'static str, &'static str, String)> {
    match read {
        Err(StorageError::Corrupt {
            table, column, id, ..
        }) => Some((table, column, id)),
        Err(StorageError::Unavailable(_) | StorageError::OutcomeUnknown(_) | StorageError::Defect(_))
        | Ok(()) => None,
    }
}

fn read<T: Debug>(answer: Result<T, StorageError>) -> Read {
    answer.map(drop)
}

fn first_page<Id>() -> PageRequest<Id> {
    PageRequest {
        size: PageSize::DEFAULT,
        after: None,
    }
}

async fn corrupt_key_is_named(database: Database) {
    let scene = Scene::new(database).await;
    let (consumer, key, organization) = (scene.bob.membership.id, scene.key, scene.bob.organization.id);
    let store = &*scene.database.store;
    let whole = ApiKeys::find(store, consumer, key).await.expect("a whole row");
    let revoked = "revoked_at = created_at, end_came_at = created_at, revoked_by_kind = ";
    let texts = texts_of_keys().into_iter();
    let texts: Vec<_> = texts
        .map(|column| (format!("{column} = '\x07'"), column))
        .collect();
    let mut spoils: Vec<_> = texts
        .iter()
        .map(|(spoil, column)| (spoil.as_str(), *column))
        .collect();
    let ends = [
        ("hint = 'kwp_'", "hint"),
        ("name = ''", "name"),
        ("created_by_user_id = NULL", "created_by_user_id"),
        ("created_by_key_id = id", "created_by_key_id"),
        ("revoked_at = created_at", "revoked_by_kind"),
        (&format!("{revoked}'administrator'"), "revoked_reason"),
        (
            &format!("{revoked}'administrator', revoked_reason = 'X'"),
            "revoked_reason",
        ),
        (
            &format!("{revoked}'x', revoked_reason = 'leak'"),
            "revoked_by_kind",
        ),
        (
            &format!("{revoked}'user', revoked_reason = 'leak'"),
            "revoked_by_id",
        ),
        (
            &format!("{revoked}'administrator', revoked_reason = 'leak', revoked_note = 'a\nb'"),
            "revoked_note",
        ),
        ("revoked_by_kind = 'administrator'", "revoked_at"),
        ("revoked_reason = 'leak'", "revoked_at"),
        ("revoked_note = 'gone'", "revoked_at"),
        ("end_came_at = created_at", "revoked_at"),
        (
            "last_used_at = created_at, last_used_from = 'nowhere'",
            "last_used_from",
        ),
        ("last_used_from = '192.0.2.1'", "last_used_at"),
    ];
    spoils.extend(ends);
    assert_named(&scene, ("api_keys", key.as_uuid()), &spoils, async || {
        let filter = KeyFilter::new(StatusFilter::All, None);
        let held = OrganizationKeyFilter::new(StatusFilter::All, None);
        vec![
            read(ApiKeys::find(store, consumer, key).await),
            read(ApiKeys::list(store, consumer, filter, first_page::<ApiKeyId>(), now()).await),
            read(OrganizationKeyStore::list(store, organization, held, first_page(), now()).await),
            read(
                store
                    .key_tree(organization, key, KeyTreeSize::DEFAULT, now())
                    .await,
            ),
        ]
    })
    .await;
    assert_eq!(
        ApiKeys::find(store, consumer, key).await.expect("a whole row"),
        whole
    );
}

async fn corrupt_users_members_and_organizations_are_named(database: Database) {
    let scene = Scene::new(database).await;
    let store = &*scene.database.store;
    let (user, organization) = (&scene.bob.user, &scene.bob.organization);
    let (membership, digest) = (scene.bob.membership.id, &scene.key_digest);

    let spoils = [("username = 'Bob!'", "username")];
    assert_named(&scene, ("users", user.id.as_uuid()), &spoils, async || {
        vec![
            read(Credentials::find(store, digest).await),
            read(store.find_live(user.id, &organization.slug, now()).await),
            read(MemberStore::find(store, organization.id, membership, now()).await),
            read(
                MemberStore::list(
                    store,
                    organization.id,
                    MemberFilter::default(),
                    first_page(),
                    now(),
                )
                .await,
            ),
            read(ProjectStore::members(store, organization.id, scene.project.id, first_page(), now()).await),
        ]
    })
    .await;
    let spoils = [("display_name = ''", "display_name")];
    assert_named(&scene, ("users", user.id.as_uuid()), &spoils, async || {
        vec![
            read(AccountStore::find(store, &user.username).await),
            read(MemberStore::find(store, organization.id, membership, now()).await),
        ]
    })
    .await;
    let spoils = [("slug = '-'", "slug"), ("name = 'a\nb'", "name")];
    assert_named(
        &scene,
        ("organizations", organization.id.as_uuid()),
        &spoils,
        async || {
            vec![
                read(Credentials::find(store, digest).await),
                read(store.organizations().await),
                read(store.organizations_of(user.id, now()).await),
                read(OpenInvitations::find(store, &scene.invitation.token.digest(), None, now()).await),
            ]
        },
    )
    .await;
    let spoils = [("role = 'king'", "role")];
    assert_named(
        &scene,
        ("memberships", membership.as_uuid()),
        &spoils,
        async || {
            vec![
                read(store.find_live(user.id, &organization.slug, now()).await),
                read(MemberStore::find(store, organization.id, membership, now()).await),
            ]
        },
    )
    .await;
}

async fn corrupt_invitation_is_named(database: Database) {
    let scene = Scene::new(database).await;
    let store = &*scene.database.store;
    let invitation = &scene.invitation.invitation;
    let accepted = format!(
        "accepted_membership_id = {}",
        scene.database.id(scene.carol.membership.id.as_uuid())
    );
    let spoils = [
        ("invitee = ''", "invitee"),
        ("role = 'king'", "role"),
        ("invited_by_kind = 'ghost'", "invited_by_kind"),
        ("invited_by_id = NULL", "invited_by_id"),
        (&accepted, "accepted_at"),
    ];
    assert_named(
        &scene,
        ("invitations", invitation.id.as_uuid()),
        &spoils,
        async || {
            vec![
                read(store.pending(invitation.organization_id, first_page()).await),
                read(OpenInvitations::find(store, &scene.invitation.token.digest(), None, now()).await),
            ]
        },
    )
    .await;
}

async fn corrupt_project_is_named(database: Database) {
    let scene = Scene::new(database).await;
    let store = &*scene.database.store;
    let (organization, project) = (scene.bob.organization.id, scene.project.id);
    let consumer = scene.bob.membership.id;
    let spoils = [("name = ''", "name"), ("name = 'a\nb'", "name")];
    assert_named(&scene, ("projects", project.as_uuid()), &spoils, async || {
        vec![
            read(ProjectStore::find(store, organization, project, now()).await),
            read(
                ProjectStore::list(store, organization, ProjectFilter::default(), first_page(), now()).await,
            ),
            read(ReachableProjects::find(store, consumer, project, now()).await),
            read(ReachableProjects::list(store, consumer, first_page(), now()).await),
        ]
    })
    .await;
}

async fn corrupt_session_is_named(database: Database) {
    let scene = Scene::new(database).await;
    let store = &*scene.database.store;
    let token = SessionToken::parse(&scene.there_token).expect("a token");
    let spoils = [("started_from = 'nowhere'", "started_from")];
    let session = scene.there.session.id.as_uuid();
    assert_named(&scene, ("sessions", session), &spoils, async || {
        vec![
            read(SessionStore::find(store, &token.digest()).await),
            read(SessionStore::list(store, scene.ada.user.id).await),
        ]
    })
    .await;
}

async fn corrupt_audit_event_is_named(database: Database) {
    let scene = Scene::new(database).await;
    let store = &*scene.database.store;
    let organization = Some(scene.ada.organization.id);
    let events = || AuditLog::list(store, organization, AuditFilter::default(), first_page());
    let page = events().await.expect("the log");
    // The one about a member and a project.
    let event = page.items.iter().find(|event| event.object.is_some());
    let event = event.expect("an event with an object").id.as_uuid();
    let spoils = [
        ("action = 'melt'", "action"),
        ("actor_kind = 'ghost'", "actor_kind"),
        ("actor_id = NULL", "actor_id"),
        ("subject_kind = 'Ghost'", "subject_kind"),
        ("subject_id = NULL", "subject_id"),
        ("object_kind = 'Ghost'", "object_kind"),
        ("object_id = NULL", "object_id"),
        ("object_kind = NULL", "object_kind"),
        ("outcome = 'maybe'", "outcome"),
        ("source_address = 'nowhere'", "source_address"),
    ];
    assert_named(&scene, ("audit_events", event), &spoils, async || {
        vec![read(events().await)]
    })
    .await;
}

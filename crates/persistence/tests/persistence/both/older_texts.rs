//! A text that was accepted once is read, also when a later version accepts it no more.

use keyward_domain::administration::ports::{
    MemberFilter, MemberStore, OrganizationKeyFilter, OrganizationKeyStore, ProjectFilter, ProjectStore,
};
use keyward_domain::api_key::{KeyEdit, KeyName, KeyPrecondition};
use keyward_domain::audit::RequestSource;
use keyward_domain::id::ApiKeyId;
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::{ApiKeys, Credentials, KeyFilter, StatusFilter};
use keyward_domain::sign_in::ports::{AccountStore, OpenInvitations};

use crate::both::scene::Scene;
use crate::database::{Database, now};
use crate::schema_file::texts_of_keys;

on_both!(
    texts_rejected_by_current_rules_are_read_as_stored,
    key_with_a_name_rejected_today_can_be_renamed,
);

/// With an invisible character.
const OLDER: &str = "older\u{200b}";

fn first_page<Id>() -> PageRequest<Id> {
    PageRequest {
        size: PageSize::DEFAULT,
        after: None,
    }
}

async fn texts_rejected_by_current_rules_are_read_as_stored(database: Database) {
    let scene = Scene::new(database).await;
    let texts = texts_of_keys();
    let of_keys = texts.iter().map(|column| ("api_keys", *column));
    let others = [
        ("projects", "name"),
        ("organizations", "name"),
        ("users", "display_name"),
        ("invitations", "invitee"),
    ];
    let statements = of_keys.chain(others);
    let statements = statements.map(|(table, column)| format!("UPDATE {table} SET {column} = '{OLDER}'"));
    let statements: Vec<String> = statements.collect();
    scene.database.execute(&statements.join("; ")).await;
    let store = &*scene.database.store;
    let (bob, organization) = (scene.bob.membership.id, scene.bob.organization.id);

    let key = ApiKeys::find(store, bob, scene.key).await;
    let key = key.expect("an answer").expect("a key");
    assert_eq!((key.name.as_str(), key.description.as_str()), (OLDER, OLDER));
    let shown = format!("{key:?}").matches(&format!("{OLDER:?}")).count();
    assert_eq!(shown, texts.len(), "{key:?}");
    let keys = ApiKeys::list(
        store,
        bob,
        KeyFilter::new(StatusFilter::All, None),
        first_page::<ApiKeyId>(),
        now(),
    )
    .await;
    assert_eq!(keys.expect("keys").items.len(), 2);
    let held = OrganizationKeyFilter::new(StatusFilter::All, None);
    let held = OrganizationKeyStore::list(store, organization, held, first_page(), now()).await;
    assert_eq!(held.expect("keys").items.len(), 2);
    let caller = Credentials::find(store, &scene.key_digest).await;
    assert!(caller.expect("an answer").is_some());
    let projects =
        ProjectStore::list(store, organization, ProjectFilter::default(), first_page(), now()).await;
    assert!(
        projects
            .expect("projects")
            .items
            .iter()
            .all(|project| project.project.name.as_str() == OLDER)
    );
    MemberStore::list(store, organization, MemberFilter::default(), first_page(), now())
        .await
        .expect("members");
    AccountStore::find(store, &scene.bob.user.username)
        .await
        .expect("an account");
    OpenInvitations::find(store, &scene.invitation.token.digest(), None, now())
        .await
        .expect("an invitation");
}

async fn key_with_a_name_rejected_today_can_be_renamed(database: Database) {
    let scene = Scene::new(database).await;
    let older = format!("UPDATE api_keys SET name = '{OLDER}'");
    scene.database.execute(&older).await;
    let edit = KeyEdit {
        name: Some(KeyName::parse("newer").expect("a name")),
        ..KeyEdit::default()
    };
    let edited = scene
        .use_cases
        .keys
        .edit(
            &scene.bob.as_holder(),
            scene.key,
            edit,
            KeyPrecondition::AnyVersion,
            RequestSource::default(),
        )
        .await;
    assert_eq!(edited.expect("the key").name.as_str(), "newer");
}

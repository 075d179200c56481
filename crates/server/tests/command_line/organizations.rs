//! Administrators create organizations and remove members.

use keyward_test_database::TestDatabase;

use crate::browser::{cookie, create_key, front_page_leads_to, sign_in};
use crate::keyward::{Answer, Keyward};
use crate::server::Server;
use crate::setup::{PASSWORD, set_up};

fn keyward(database: &TestDatabase, arguments: &[&str]) -> Answer {
    Keyward::new(arguments)
        .database(database.url())
        .input(PASSWORD)
        .run()
}

fn remove(database: &TestDatabase, organization: &str, username: &str) -> Answer {
    let organization = format!("--organization={organization}");
    let username = format!("--username={username}");
    keyward(database, &["admin", "remove-member", &organization, &username])
}

fn create(database: &TestDatabase, name: &str, owner: &str) -> Answer {
    let name = format!("--name={name}");
    let owner = format!("--owner={owner}");
    keyward(database, &["admin", "create-organization", &name, &owner])
}

fn add_bob(database: &TestDatabase) {
    let arguments = ["admin", "create-user", "--username=bob", "--password-stdin"];
    keyward(database, &arguments).success();
}

/// Who did what, oldest first.
async fn events(database: &TestDatabase) -> Vec<String> {
    let (client, connection) = tokio_postgres::connect(database.url(), tokio_postgres::NoTls)
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    let query = "SELECT actor_kind || ' ' || action FROM audit_events ORDER BY id";
    let rows = client.query(query, &[]).await.unwrap();
    drop(client);
    connection.await.unwrap().unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn created_organization_gets_its_own_slug_and_existing_owner() {
    let database = set_up().await;
    add_bob(&database);
    for slug in ["acme-sons-2", "acme-sons-3"] {
        let answer = create(&database, "Acme & Sons", "bob");
        assert_eq!(
            answer.errors,
            format!(
                "Created the organization {slug} with the owner bob, who can now open it in the console.\n"
            )
        );
        assert_eq!(answer.success(), "");
    }
    let recorded = events(&database).await;
    let last = &recorded[recorded.len() - 2..];
    assert_eq!(
        last,
        [
            "administrator organization.create",
            "administrator membership.create"
        ]
    );
    let server = Server::start(database.url(), &[]);
    let signed_in = sign_in(&server, "bob", PASSWORD);
    let cookie = format!("Cookie: {}", cookie(&signed_in));
    for (slug, status) in [("acme-sons", 404), ("acme-sons-2", 200), ("acme-sons-3", 200)] {
        let members = format!("/organizations/{slug}/settings/members");
        assert_eq!(
            server.ask("GET", &members, &[&cookie], "").status,
            status,
            "{slug}"
        );
    }
}

#[tokio::test]
async fn organization_for_an_unknown_owner_is_refused_in_one_sentence() {
    let database = set_up().await;
    let answer = create(&database, "Other", "nobody");
    assert_eq!(answer.refusal(), "there is no user named nobody");
    let empty = TestDatabase::empty().await.unwrap();
    let answer = create(&empty, "Other", "ada");
    assert!(answer.refusal().starts_with("Keyward is not set up yet"));
}

#[tokio::test]
async fn removed_member_loses_pages_and_keys() {
    let database = set_up().await;
    add_bob(&database);
    let server = Server::start(database.url(), &[]);
    let signed_in = sign_in(&server, "bob", PASSWORD);
    let page = create_key(&server, cookie(&signed_in), "laptop");
    let (_, token) = page.body.split_once("value=\"kwp_").unwrap();
    let bearer = format!("Authorization: Bearer kwp_{}", token.split_once('"').unwrap().0);
    assert_eq!(server.ask("GET", "/api/v1/user", &[&bearer], "").status, 200);

    let answer = remove(&database, "acme-sons", "bob");
    assert_eq!(
        answer.errors,
        "Removed bob from acme-sons. Their keys for it no longer work.\n"
    );
    assert_eq!(answer.success(), "");
    assert_eq!(server.ask("GET", "/api/v1/user", &[&bearer], "").status, 401);
    let page = format!("Cookie: {}", cookie(&signed_in));
    let list = "/organizations/acme-sons/settings/api-keys";
    assert_eq!(server.ask("GET", list, &[&page], "").status, 404);
    assert_eq!(
        events(&database).await.last().map(String::as_str),
        Some("administrator membership.remove")
    );
    assert_eq!(
        remove(&database, "acme-sons", "bob").refusal(),
        "bob is not a member of acme-sons"
    );
}

#[tokio::test]
async fn removing_last_owner_or_unknown_member_is_refused_by_name() {
    let database = set_up().await;
    add_bob(&database);
    let recorded = events(&database).await;
    assert_eq!(
        remove(&database, "acme-sons", "ada").refusal(),
        "ada is the only permanent owner of acme-sons, which needs one: make someone else an owner in the console first"
    );
    assert_eq!(
        remove(&database, "other", "ada").refusal(),
        "there is no organization other: set --organization to one of acme-sons"
    );
    assert_eq!(
        remove(&database, "acme-sons", "bo").refusal(),
        "bo is not a member of acme-sons"
    );
    assert_eq!(events(&database).await, recorded, "nothing was changed");
    let server = Server::start(database.url(), &[]);
    let signed_in = sign_in(&server, "ada", PASSWORD);
    let page = front_page_leads_to(&server, cookie(&signed_in));
    assert!(page.starts_with("/organizations/acme-sons/"), "{page}");
    let empty = TestDatabase::empty().await.unwrap();
    let answer = remove(&empty, "acme-sons", "ada");
    assert!(answer.refusal().starts_with("Keyward is not set up yet"));
}

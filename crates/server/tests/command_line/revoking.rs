//! Administrators revoke keys of users.

use keyward_test_database::TestDatabase;
use serde_json::Value;
use tokio_postgres::NoTls;

use crate::browser::{cookie, create_key, sign_in};
use crate::keyward::{Answer, Keyward};
use crate::server::{HttpAnswer, Server};
use crate::setup::{PASSWORD, set_up};

/// A key that was created in the console, as its holder sends it.
struct Key {
    id: String,
    bearer: String,
}

impl Key {
    fn create(server: &Server, signed_in: &HttpAnswer, name: &str) -> Self {
        let page = create_key(server, cookie(signed_in), name);
        let (_, token) = page.body.split_once("value=\"kwp_").unwrap();
        let token = token.split_once('"').unwrap().0;
        let bearer = format!("Authorization: Bearer kwp_{token}");
        let current = server.ask("GET", "/api/v1/user/api-keys/current", &[&bearer], "");
        let current: Value = serde_json::from_str(&current.body).unwrap();
        let id = current["id"].as_str().unwrap().to_owned();
        Self { id, bearer }
    }

    fn status(&self, server: &Server) -> u16 {
        server.ask("GET", "/api/v1/user", &[&self.bearer], "").status
    }
}

async fn was_created_in_2020(database: &TestDatabase, key: &Key) {
    let (client, connection) = tokio_postgres::connect(database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let moment = format!(
        "UPDATE api_keys SET created_at = '2020-06-01', tree_began_at = '2020-06-01' WHERE id = '{}'",
        key.id
    );
    client.batch_execute(&moment).await.unwrap();
}

fn revoke(database: &TestDatabase, which: &[&str]) -> Answer {
    let arguments = [
        &[
            "admin",
            "revoke",
            "--organization=acme-sons",
            "--reason=found in a log",
        ],
        which,
    ];
    Keyward::new(&arguments.concat()).database(database.url()).run()
}

#[tokio::test]
async fn keys_are_revoked_by_id_member_or_time_with_reason() {
    let database = set_up().await;
    let server = Server::start(database.url(), &[]);
    let signed_in = sign_in(&server, "ada", PASSWORD);
    let keys = ["one", "two", "three"].map(|name| Key::create(&server, &signed_in, name));

    let answer = revoke(&database, &["--key", &keys[0].id]);
    assert_eq!(answer.errors, "Revoked 1 key of acme-sons. It no longer works.\n");
    assert_eq!(answer.success(), "");
    assert_eq!(
        [0, 1, 2].map(|key: usize| keys[key].status(&server)),
        [401, 200, 200]
    );

    let again = revoke(&database, &["--key", &keys[0].id]);
    assert_eq!(
        again.errors,
        "Nothing was revoked: acme-sons has no such valid keys.\n"
    );
    assert_eq!(again.success(), "");

    let before_all = revoke(&database, &["--issued-before", "2020-01-01T00:00:00Z"]);
    assert_eq!(
        before_all.errors,
        "Nothing was revoked: acme-sons has no such valid keys.\n"
    );
    assert_eq!(before_all.success(), "");
    assert_eq!(keys[1].status(&server), 200);

    let answer = revoke(&database, &["--username", "ada"]);
    assert_eq!(
        answer.errors,
        "Revoked 2 keys of acme-sons. They no longer work.\n"
    );
    assert_eq!([1, 2].map(|key: usize| keys[key].status(&server)), [401, 401]);

    let old = Key::create(&server, &signed_in, "old");
    let later = Key::create(&server, &signed_in, "later");
    let too_late = revoke(&database, &["--issued-before", "2999-12-31T00:00:00+01:00"]);
    assert_eq!(
        too_late.refusal_of_options(),
        "invalid --issued-before: must be at least a minute ago: a key from later may still be on its \
         way into the database"
    );
    assert_eq!(old.status(&server), 200);
    was_created_in_2020(&database, &old).await;
    revoke(&database, &["--issued-before", "2020-12-31T00:00:00+01:00"]).success();
    assert_eq!([&old, &later].map(|key| key.status(&server)), [401, 200]);

    let list = "/organizations/acme-sons/settings/api-keys?status=revoked";
    let list = server.ask("GET", list, &[&format!("Cookie: {}", cookie(&signed_in))], "");
    assert_eq!(list.body.matches("by an administrator").count(), 4);
    assert_eq!(list.body.matches("found in a log").count(), 4);
}

#[tokio::test]
async fn key_is_revoked_by_its_token_in_any_organization() {
    let database = set_up().await;
    let another = ["admin", "create-organization", "--name=Other", "--owner=ada"];
    Keyward::new(&another).database(database.url()).run().success();
    let server = Server::start(database.url(), &[]);
    let signed_in = sign_in(&server, "ada", PASSWORD);
    let (leaked, sound) = (
        Key::create(&server, &signed_in, "leaked"),
        Key::create(&server, &signed_in, "sound"),
    );
    let child = server.ask(
        "POST",
        "/api/v1/user/api-keys",
        &[&leaked.bearer, "Content-Type: application/json"],
        r#"{"name": "child"}"#,
    );
    let child: Value = serde_json::from_str(&child.body).unwrap();
    let child = format!("Authorization: Bearer {}", child["key"].as_str().unwrap());
    let revoke_token = |token: &str| {
        let arguments = [
            "admin",
            "revoke",
            "--reason=in a log",
            "--token-stdin",
            "--descendants",
        ];
        Keyward::new(&arguments)
            .database(database.url())
            .input(token)
            .run()
    };
    let token_of = |key: &Key| key.bearer.rsplit_once(' ').unwrap().1.to_owned();

    let cut_off = revoke_token(&token_of(&leaked)[..41]);
    let unknown = revoke_token("kwp_000000000000000000000000000000002wjyrI");
    assert_eq!(
        [cut_off.refusal(), unknown.refusal()],
        [
            "standard input has no token, so no key was revoked: not a Keyward token: expected `kwp_` followed by 38 letters and \
             digits",
            "no key has this token, so no key was revoked: check that this is the right database"
        ]
    );
    assert_eq!(leaked.status(&server), 200);

    let answer = revoke_token(&token_of(&leaked));
    assert_eq!(
        answer.errors,
        "Revoked 2 keys of acme-sons. They no longer work.\n"
    );
    assert_eq!(answer.success(), "");
    let of_child = server.ask("GET", "/api/v1/user", &[&child], "").status;
    assert_eq!(
        [leaked.status(&server), of_child, sound.status(&server)],
        [401, 401, 200]
    );
}

#[tokio::test]
async fn unknown_key_identifier_is_reported_before_any_revocation() {
    let database = set_up().await;
    let server = Server::start(database.url(), &[]);
    let key = Key::create(&server, &sign_in(&server, "ada", PASSWORD), "one");
    let unknown = "0190163d-8694-739b-aea5-966c26f8ad90";
    let answer = revoke(&database, &["--key", &key.id, "--key", unknown]);
    assert_eq!(
        answer.refusal(),
        format!("acme-sons has no key {unknown}: no key was revoked")
    );
    assert_eq!(key.status(&server), 200);
}

#[tokio::test]
async fn revocation_without_keys_or_organization_is_refused() {
    let database = set_up().await;
    let stranger = revoke(&database, &["--username", "bob"]);
    assert_eq!(stranger.refusal(), "bob is not a member of acme-sons");
    for nonsense in [
        &[][..],
        &["--key", "x"],
        &["--username", "ada", "--issued-before", "2020-01-01T00:00:00Z"],
        &["--issued-before", "yesterday"],
        &["--username", "ada", "--descendants"],
        &["--token-stdin"],
    ] {
        assert_eq!(revoke(&database, nonsense).code, Some(2), "{nonsense:?}");
    }
    let elsewhere = [
        "admin",
        "revoke",
        "--organization=other",
        "--reason=x",
        "--username=ada",
    ];
    let answer = Keyward::new(&elsewhere).database(database.url()).run();
    assert_eq!(
        answer.refusal(),
        "there is no organization other: set --organization to one of acme-sons"
    );
}

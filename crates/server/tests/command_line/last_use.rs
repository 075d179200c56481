//! When keys were last used, as the server writes it down.

use keyward_test_database::TestDatabase;
use rustix::process::Signal;
use tokio_postgres::NoTls;

use crate::browser::{cookie, create_key, sign_in, token_in};
use crate::server::Server;
use crate::setup::{PASSWORD, bootstrap};

#[tokio::test]
async fn the_last_use_before_sigterm_is_kept() {
    let database = TestDatabase::empty().await.unwrap();
    bootstrap(database.url()).success();
    let mut server = Server::start(database.url(), &[]);
    let signed_in = sign_in(&server, "ada", PASSWORD);
    let page = create_key(&server, cookie(&signed_in), "laptop");
    let token = token_in(&page.body);
    let authorization = format!("Authorization: Bearer {token}");
    let answer = server.ask("GET", "/api/v1/user", &[&authorization], "");
    assert_eq!(answer.status, 200, "{answer:?}");
    server.signal(Signal::TERM);
    let (status, log) = server.ended();
    assert_eq!(status.code(), Some(0), "{log}");

    let (client, connection) = tokio_postgres::connect(database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let row = client
        .query_one(
            "SELECT last_used_from FROM api_keys WHERE last_used_at IS NOT NULL",
            &[],
        )
        .await
        .unwrap();
    assert_eq!(row.get::<_, Option<&str>>(0), Some("127.0.0.1"));
}

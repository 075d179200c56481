//! A change whose audit event the database refuses, as people see it.

use tokio_postgres::NoTls;

use crate::browser::{cookie, create_key, send, sign_in, token_in};
use crate::keyward::Keyward;
use crate::server::Server;
use crate::setup::{PASSWORD, set_up};

const MEMBERS: &str = "/organizations/acme-sons/settings/members";
const REFUSE_EVENTS: &str = "
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'disk on fire'; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON audit_events FOR EACH ROW EXECUTE FUNCTION refuse()";

#[tokio::test]
async fn member_stays_active_when_removal_event_cannot_be_written() {
    let database = set_up().await;
    let new_user = ["admin", "create-user", "--username=bob", "--password-stdin"];
    let added = Keyward::new(&new_user)
        .database(database.url())
        .input(PASSWORD)
        .run();
    added.success();
    let mut server = Server::start(database.url(), &[]);
    let (ada, bob) = (
        sign_in(&server, "ada", PASSWORD),
        sign_in(&server, "bob", PASSWORD),
    );
    let page = create_key(&server, cookie(&bob), "laptop");
    let authorization = format!("Authorization: Bearer {}", token_in(&page.body));
    let answer_to_key = |server: &Server| server.ask("GET", "/api/v1/user", &[&authorization], "").status;
    assert_eq!(answer_to_key(&server), 200);

    let (client, connection) = tokio_postgres::connect(database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let of_bob = "SELECT memberships.id::text FROM memberships JOIN users ON users.id = user_id WHERE username = 'bob'";
    let id: String = client.query_one(of_bob, &[]).await.unwrap().get(0);
    client.batch_execute(REFUSE_EVENTS).await.unwrap();

    let (member, remove) = (format!("{MEMBERS}/{id}"), format!("{MEMBERS}/{id}/remove"));
    let refused = send(&server, &remove, cookie(&ada), "confirm=yes");
    assert_eq!(refused.status, 500, "{refused:?}");
    let request_id = refused.header("x-request-id").unwrap();
    assert!(
        refused.body.contains("give your administrator the request ID") && refused.body.contains(request_id)
    );
    assert!(refused.body.trim_end().ends_with("</html>") && !refused.body.contains("disk on fire"));
    let logged = server.event("page failed");
    assert!(
        logged["error"].as_str().unwrap().contains("disk on fire"),
        "{logged}"
    );
    assert_eq!(answer_to_key(&server), 200, "the key goes on");
    let page = server.ask("GET", &member, &[&format!("Cookie: {}", cookie(&ada))], "");
    assert_eq!(page.status, 200, "the member is there");

    client
        .batch_execute("DROP TRIGGER refuse ON audit_events")
        .await
        .unwrap();
    let removed = send(&server, &remove, cookie(&ada), "confirm=yes");
    assert_eq!(removed.status, 303, "{removed:?}");
    assert_eq!(answer_to_key(&server), 401);
}

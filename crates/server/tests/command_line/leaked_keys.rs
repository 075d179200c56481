//! Reports of leaked keys, as the servers deal with them.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::browser::{cookie, create_key, sign_in, token_in};
use crate::place::Place;
use crate::server::Server;
use crate::setup::PASSWORD;

fn report(server: &Server, token: &str) {
    let body = json!({"tokens": [{"token": token, "url": "https://example.com/leak", "type": "commit"}]});
    let headers = ["Content-Type: application/json"];
    let answer = server.ask("POST", "/api/v1/leaked-keys", &headers, &body.to_string());
    assert_eq!((answer.status, &*answer.body), (202, ""), "{answer:?}");
}

fn is_accepted(server: &Server, token: &str) -> bool {
    let authorization = format!("Authorization: Bearer {token}");
    server.ask("GET", "/api/v1/user", &[&authorization], "").status == 200
}

fn revocations(place: &Place) -> Vec<Value> {
    let log = place.keyward(&["admin", "audit-log", "--organization=acme-sons"]);
    let lines = log.run().success();
    let events = lines.lines().map(|line| serde_json::from_str(line).unwrap());
    events
        .filter(|event: &Value| event["action"] == "api_key.revoke")
        .collect()
}

#[tokio::test]
async fn reported_key_is_revoked_on_every_server_before_the_answer() {
    for (place, servers) in [(Place::file("leaked"), 1), (Place::server().await, 2)] {
        place.bootstrap();
        let mut servers: Vec<Server> = (0..servers).map(|_| place.serve(&[])).collect();
        let signed_in = sign_in(&servers[0], "ada", PASSWORD);
        let cookie = cookie(&signed_in).to_owned();
        let page = create_key(&servers[0], &cookie, "laptop");
        let token = token_in(&page.body).to_owned();
        assert!(servers.iter().all(|server| is_accepted(server, &token)));

        let first = &mut servers[0];
        report(first, &token);
        assert!(!servers.iter().any(|server| is_accepted(server, &token)));
        let first = &mut servers[0];
        assert_eq!(first.event("leaked keys revoked")["revoked"], 1);
        let list = "/organizations/acme-sons/settings/api-keys?status=revoked";
        let page = first.ask("GET", list, &[&format!("Cookie: {cookie}")], "");
        for words in [
            "because its token leaked",
            "Found in commit, at https://example.com/leak",
        ] {
            assert!(page.body.contains(words), "{words}: {}", page.body);
        }

        let events = revocations(&place);
        let [event] = &events[..] else {
            panic!("one event: {events:#?}")
        };
        assert_eq!(event["actor"]["kind"], "anonymous");
        assert_eq!(event["subject"]["name"], "laptop");
        assert_eq!(event["sourceAddress"], "127.0.0.1");
        assert!(event["requestId"].is_string(), "{event}");
    }
}

#[test]
fn answered_report_survives_a_killed_server() {
    let place = Place::file("leaked-and-killed");
    place.bootstrap();
    let mut server = place.serve(&[]);
    let signed_in = sign_in(&server, "ada", PASSWORD);
    let page = create_key(&server, cookie(&signed_in), "laptop");
    report(&server, token_in(&page.body));
    server.signal(Signal::KILL);
    server.ended();
    assert_eq!(revocations(&place).len(), 1);
}

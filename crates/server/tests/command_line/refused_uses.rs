//! Uses of revoked keys, as the servers report them.

use rustix::process::Signal;
use serde_json::Value;

use crate::browser::{cookie, create_key, sign_in, token_in};
use crate::place::Place;
use crate::server::Server;
use crate::setup::PASSWORD;

fn use_key(server: &Server, method: &str, token: &str) -> (u16, Value) {
    let authorization = format!("Authorization: Bearer {token}");
    let answer = server.ask(method, "/api/v1/user/api-keys/current", &[&authorization], "");
    let mut body: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    if let Some(members) = body.as_object_mut() {
        members.remove("requestId");
    }
    (answer.status, body)
}

fn end(mut server: Server) {
    server.signal(Signal::TERM);
    let (status, log) = server.ended();
    assert_eq!(status.code(), Some(0), "{log}");
}

fn reported(place: &Place) -> Vec<Value> {
    let log = place.keyward(&["admin", "audit-log", "--organization=acme-sons"]);
    let lines = log.run().success();
    let events = lines.lines().map(|line| serde_json::from_str(line).unwrap());
    events
        .filter(|event: &Value| event["action"] == "api_key.use")
        .collect()
}

#[tokio::test]
async fn revoked_key_used_on_two_servers_is_reported_once() {
    for (place, servers) in [(Place::file("refused-uses"), 1), (Place::server().await, 2)] {
        place.bootstrap();
        let servers: Vec<Server> = (0..servers).map(|_| place.serve(&[])).collect();
        let signed_in = sign_in(&servers[0], "ada", PASSWORD);
        let page = create_key(&servers[0], cookie(&signed_in), "laptop");
        let token = token_in(&page.body);
        assert_eq!(use_key(&servers[0], "DELETE", token).0, 204);
        let unknown = use_key(&servers[0], "GET", &format!("kwp_{}2wjyrI", "0".repeat(32)));
        for server in &servers {
            for _ in 0..3 {
                let refused = use_key(server, "GET", token);
                assert_eq!(
                    refused, unknown,
                    "nothing tells a revoked key from an unknown one"
                );
                assert_eq!(refused.0, 401);
            }
        }
        servers.into_iter().for_each(end);

        let events = reported(&place);
        let [event] = &events[..] else {
            panic!("one event: {events:#?}")
        };
        assert_eq!(event["outcome"], "refused");
        assert_eq!(event["actor"]["kind"], "anonymous");
        assert_eq!(event["subject"]["name"], "laptop");
        assert_eq!(event["object"]["username"], "ada");
        assert_eq!(event["sourceAddress"], "127.0.0.1");
    }
}

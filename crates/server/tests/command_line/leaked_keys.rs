//! Reports of leaked keys, and how servers handle them.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::browser::{cookie, create_key, sign_in, token_in};
use crate::data_directory::DataDirectory;
use crate::keyward::Keyward;
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
fn revocation_of_a_reported_key_survives_a_killed_server() {
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

/// Signs reports with a key of its own, as GitHub does.
struct Signer(EcdsaKeyPair);

impl Signer {
    fn new() -> Self {
        let (random, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_ASN1_SIGNING);
        let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Self(EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).unwrap())
    }

    /// The public key, in the JSON format in which GitHub publishes its keys.
    fn public_keys(&self) -> String {
        let mut der = STANDARD.decode("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE").unwrap();
        der.extend(&self.0.public_key().as_ref()[1..]);
        let pem = format!(
            "-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n",
            STANDARD.encode(der)
        );
        json!({"public_keys": [{"key_identifier": "one", "key": pem, "is_current": true}]}).to_string()
    }

    fn report(&self, server: &Server, token: &str) -> (u16, Value) {
        let report = json!([{"token": token, "type": "keyward_api_key", "url": "", "source": "commit"}]);
        // Larger than the maximum body size of other operations.
        let body = format!("{report}{}", " ".repeat(100 * 1024));
        let signature = self.0.sign(&SystemRandom::new(), body.as_bytes()).unwrap();
        let headers = [
            "Content-Type: application/json",
            "Github-Public-Key-Identifier: one",
            &format!("Github-Public-Key-Signature: {}", STANDARD.encode(signature)),
        ];
        let answer = server.ask("POST", "/api/v1/leaked-keys/github", &headers, &body);
        (answer.status, answer.json())
    }
}

#[test]
fn github_reports_are_verified_with_the_keys_in_the_file() {
    let directory = DataDirectory::new("github-keys");
    directory.bootstrap().success();
    let file = directory.path().join("github-keys.json");
    let serve = || {
        Keyward::new(&["serve", "--listen", "127.0.0.1:0"])
            .data_directory(directory.path())
            .variable("KEYWARD_GITHUB_KEYS", file.to_str().unwrap())
    };
    for (content, words) in [("[]", "line 1"), ("{\"public_keys\": []}", "has no ECDSA key")] {
        fs::write(&file, content).unwrap();
        let answer = serve().run();
        let refusal = answer.refusal();
        assert!(
            refusal.contains(words) && refusal.contains("github-keys.json"),
            "{refusal}"
        );
    }
    let [old, new] = [Signer::new(), Signer::new()];
    fs::write(&file, old.public_keys()).unwrap();
    let mut server = Server::listening_as(serve());
    let signed_in = sign_in(&server, "ada", PASSWORD);
    let cookie = cookie(&signed_in).to_owned();
    let [first, second] =
        ["first", "second"].map(|name| token_in(&create_key(&server, &cookie, name).body).to_owned());
    assert_eq!(new.report(&server, &first).0, 403);
    assert!(is_accepted(&server, &first));
    let (status, feedback) = old.report(&server, &first);
    assert_eq!((status, &feedback[0]["label"]), (200, &json!("true_positive")));
    assert!(!is_accepted(&server, &first));

    fs::write(&file, new.public_keys()).unwrap();
    assert_eq!(server.event("watched file read again")["count"], 1);
    assert_eq!(old.report(&server, &second).0, 403);
    assert!(is_accepted(&server, &second));
    assert_eq!(new.report(&server, &second).0, 200);
    assert!(!is_accepted(&server, &second));
}

//! Restarts and shutdowns lose nothing.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use keyward_tests::api::{Api, text};
use keyward_tests::console::PlainConsole;
use keyward_tests::keyward::{Keyward, TIMEOUT};

#[tokio::test(flavor = "multi_thread")]
async fn kill_and_restart_preserve_everything() {
    let keyward = Keyward::start_set_up().await;
    let api = PlainConsole::sign_in_owner(&keyward)
        .await
        .api_with_first_key()
        .await;
    let kept = api.create("kept", "for later").await;
    let revoked = api.create("revoked", "").await;
    api.delete(text(&revoked, "id")).await;
    let before = api.list("?status=all").await;

    let keyward = keyward.kill_and_restart().await;

    let api = Api::anonymous(keyward.base_url()).with_token(api.token().expect("a token"));
    assert_eq!(api.list("?status=all").await, before);
    assert!(api.with_token(text(&kept, "key")).is_accepted().await);
    assert!(!api.with_token(text(&revoked, "key")).is_accepted().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_lets_a_request_in_flight_finish() {
    let keyward = Keyward::start_set_up().await;
    let api = PlainConsole::sign_in_owner(&keyward)
        .await
        .api_with_first_key()
        .await;
    let body = "{\"name\":\"created while ending\"}";
    let head = format!(
        "POST /api/v1/user/api-keys HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        keyward.authority(),
        api.token().expect("a token"),
        body.len()
    );
    let mut stream = TcpStream::connect(keyward.authority())
        .await
        .expect("a connection");
    stream.write_all(head.as_bytes()).await.expect("the head is sent");
    // The server asks for the body once it works on the request: from here on, it is in flight.
    let mut go_on = [0; 25];
    stream
        .read_exact(&mut go_on)
        .await
        .expect("the server asks for the body");
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");

    keyward.terminate().await;
    until_new_connections_are_refused(&keyward).await;
    stream.write_all(body.as_bytes()).await.expect("the body is sent");
    let mut answer = String::new();
    tokio::time::timeout(TIMEOUT, stream.read_to_string(&mut answer))
        .await
        .expect("an end")
        .expect("an answer");

    assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
    let (code, log, _storage) = keyward.ended().await;
    assert_eq!(code, Some(0), "{log}");
    assert!(!log.contains("kwp_"), "a token is in the log: {log}");
}

async fn until_new_connections_are_refused(keyward: &Keyward) {
    let refused = async {
        while TcpStream::connect(keyward.authority()).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TIMEOUT, refused)
        .await
        .expect("new connections are refused");
}

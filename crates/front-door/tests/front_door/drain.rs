//! How the front door closes.

use std::time::Duration;

use keyward_front_door::Drained;

use crate::{
    app::LARGE,
    client::{Client, eventually},
    running::Running,
};

#[tokio::test]
async fn a_request_in_flight_finishes_while_new_connections_are_refused() {
    let mut door = Running::with_defaults().await;
    let mut client = door.client().await;
    client
        .send("GET /gated HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await;
    door.stage.is_asked("/gated").await;

    door.stop();
    eventually(async || Client::try_connect(door.address).await.is_err()).await;
    door.stage.open_gate();
    let answer = client.answer().await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "hello"));
    assert_eq!(answer.header("connection"), ["close"]);
    assert_eq!(client.closed().await, b"");
    assert_eq!(door.ended().await, Drained { cut_off: 0 });
}

#[tokio::test]
async fn a_body_still_being_sent_is_received_without_hurry_while_draining() {
    let hurried = Duration::from_millis(200);
    let mut door = Running::with(|config| config.deadlines.hurried = hurried).await;
    let mut client = door.client().await;
    client
        .send("POST /length HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n12")
        .await;
    door.stage.is_asked("/length").await;
    door.stop();
    eventually(async || Client::try_connect(door.address).await.is_err()).await;
    assert!(client.hears_nothing_for(2 * hurried).await);
    client.send("34").await;
    assert_eq!(client.answer().await.body, "4");
    assert_eq!(door.ended().await, Drained { cut_off: 0 });
}

#[tokio::test]
async fn a_large_answer_arrives_whole_while_draining() {
    let mut door = Running::with_defaults().await;
    let mut client = door.client().await;
    client
        .send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await;
    // From its first byte on, most of the answer waits for the client.
    client.first_byte().await;
    door.stop();
    eventually(async || Client::try_connect(door.address).await.is_err()).await;
    assert_eq!(client.answer().await.body.len(), LARGE);
    assert_eq!(door.ended().await, Drained { cut_off: 0 });
}

#[tokio::test]
async fn idle_connections_do_not_delay_the_drain() {
    let mut door = Running::with(|config| config.deadlines.drain = Duration::from_secs(3_600)).await;
    let mut idle = door.client().await;
    assert_eq!(idle.get("/").await.status, 200);
    let mut silent = door.client().await;
    // Known to be accepted, since connections are accepted in order.
    assert_eq!(door.client().await.get("/").await.status, 200);

    door.stop();
    assert_eq!(door.ended().await, Drained { cut_off: 0 });
    assert_eq!(idle.closed().await, b"");
    assert_eq!(silent.closed().await, b"");
}

#[tokio::test]
async fn half_a_head_delays_the_drain_for_a_moment_only() {
    let mut door = Running::with(|config| {
        config.deadlines.header_read = Duration::from_secs(3_600);
        config.deadlines.hurried = Duration::from_millis(200);
        config.deadlines.drain = Duration::from_secs(3_600);
    })
    .await;
    let mut slow = door.client().await;
    slow.send("GET / HTTP").await;
    // Known to be accepted, since connections are accepted in order.
    assert_eq!(door.client().await.get("/").await.status, 200);

    door.stop();
    assert_eq!(door.ended().await, Drained { cut_off: 0 });
    assert_eq!(slow.closed().await, b"");
}

#[tokio::test]
async fn a_stuck_request_is_cut_off_at_the_drain_deadline() {
    let mut door = Running::with(|config| {
        config.deadlines.drain = Duration::from_millis(200);
        config.deadlines.handler = Duration::from_secs(3_600);
    })
    .await;
    let mut client = door.client().await;
    client
        .send("GET /never HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await;
    door.stage.is_asked("/never").await;

    door.stop();
    let stage = door.stage.clone();
    assert_eq!(door.ended().await, Drained { cut_off: 1 });
    assert_eq!(client.closed().await, b"");
    stage.is_abandoned().await;
}

#[tokio::test]
async fn it_says_not_ready_before_it_stops_accepting() {
    let mut door =
        Running::with(|config| config.deadlines.not_ready_notice = Duration::from_secs(3_600)).await;
    assert_eq!(door.client().await.get("/readyz").await.status, 200);
    door.stop();
    eventually(async || door.client().await.get("/readyz").await.status == 503).await;
    assert_eq!(door.client().await.get("/").await.status, 200);
}

//! So many connections at once and no more.

use std::time::Duration;

use crate::{app::LARGE, running::Running};

const A_MOMENT: Duration = Duration::from_millis(200);
const HOUR: Duration = Duration::from_secs(3_600);

#[tokio::test]
async fn the_connection_over_the_cap_waits_and_is_served_when_one_leaves() {
    let door = Running::with(|config| config.limits.connections = Some(1)).await;
    let mut first = door.client().await;
    first.send("GET /gated HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    door.stage.is_asked("/gated").await;

    let mut second = door.client().await;
    second.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert!(second.hears_nothing_for(A_MOMENT).await);
    assert_eq!(door.stage.paths(), ["/gated"]);

    door.stage.open_gate();
    let answer = first.answer().await;
    assert_eq!((answer.status, answer.header("connection")), (200, vec!["close"]));
    assert_eq!(second.answer().await.status, 200);
}

#[tokio::test]
async fn an_idle_connection_makes_room_when_the_house_is_full() {
    let door = Running::with(|config| config.limits.connections = Some(2)).await;
    let mut idle = door.client().await;
    let answer = idle.get("/").await;
    assert!(answer.header("connection").is_empty(), "{answer:?}");

    let mut busy = door.client().await;
    busy.send("GET /gated HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert_eq!(idle.closed().await, b"");
    assert_eq!(door.client().await.get("/").await.status, 200);

    door.stage.open_gate();
    assert_eq!(busy.answer().await.status, 200);
}

#[tokio::test]
async fn a_large_answer_arrives_whole_in_a_full_house() {
    let door = Running::with(|config| config.limits.connections = Some(1)).await;
    let mut client = door.client().await;
    client
        .send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await;
    client.first_byte().await;
    let mut next = door.client().await;
    next.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert!(next.hears_nothing_for(A_MOMENT).await);
    assert_eq!(client.answer().await.body.len(), LARGE);
    assert_eq!(next.answer().await.status, 200);
}

#[tokio::test]
async fn a_flood_of_connections_is_served_in_turn() {
    let door = Running::with(|config| config.limits.connections = Some(3)).await;
    let mut flood = Vec::new();
    for _ in 0..100 {
        let mut client = door.client().await;
        client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
        flood.push(client);
    }
    for mut client in flood {
        assert_eq!(client.answer().await.status, 200);
    }
}

#[tokio::test]
async fn silent_connections_hold_their_places_only_until_the_header_deadline() {
    let door = Running::with(|config| {
        config.limits.connections = Some(2);
        config.deadlines.header_read = A_MOMENT;
    })
    .await;
    let mut silent = Vec::new();
    for _ in 0..6 {
        let mut client = door.client().await;
        client.send("GET / HTTP").await;
        silent.push(client);
    }
    assert_eq!(door.client().await.get("/").await.status, 200);
}

#[tokio::test]
async fn in_a_full_house_half_a_head_keeps_its_place_for_a_moment_only() {
    let door = Running::with(|config| {
        config.limits.connections = Some(3);
        config.deadlines.header_read = HOUR;
        config.deadlines.hurried = A_MOMENT;
    })
    .await;
    let mut slow = door.client().await;
    slow.send("GET / HTTP").await;
    // There is room: it may take its time.
    assert_eq!(door.client().await.get("/").await.status, 200);
    assert!(slow.hears_nothing_for(2 * A_MOMENT).await);

    let mut others = [door.client().await, door.client().await];
    for slow in &mut others {
        slow.send("GET / HTTP").await;
    }
    assert_eq!(door.client().await.get("/").await.status, 200);
    assert_eq!(slow.closed().await, b"");
}

#[tokio::test]
async fn in_a_full_house_half_a_body_keeps_its_place_for_a_moment_only() {
    let door = Running::with(|config| {
        config.limits.connections = Some(1);
        config.deadlines.body = HOUR;
        config.deadlines.hurried = A_MOMENT;
    })
    .await;
    let mut slow = door.client().await;
    slow.send("POST /length HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n1")
        .await;
    assert_eq!(door.client().await.get("/").await.status, 200);
    assert_eq!(slow.answer().await.status, 408);
}

#[tokio::test]
async fn in_a_full_house_a_refused_client_that_stays_keeps_its_place_for_a_moment_only() {
    let door = Running::with(|config| {
        config.limits.connections = Some(1);
        config.deadlines.hurried = A_MOMENT;
    })
    .await;
    let mut refused = door.client().await;
    refused
        .send("POST /missing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n")
        .await;
    assert_eq!(refused.answer().await.status, 404);
    let mut next = door.client().await;
    let answer = tokio::time::timeout(10 * A_MOMENT, next.get("/")).await;
    assert_eq!(answer.map(|answer| answer.status), Ok(200));
}

#[tokio::test]
async fn requests_sent_at_once_are_answered_in_order() {
    let door = Running::with_defaults().await;
    let mut client = door.client().await;
    client
        .send(
            "GET /missing HTTP/1.1\r\nHost: localhost\r\n\r\nGET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET /missing HTTP/1.1\r\nHost: localhost\r\n\r\n",
        )
        .await;
    for status in [404, 200, 404] {
        assert_eq!(client.answer().await.status, status);
    }
}

//! The limit of connections.

use std::time::Duration;

use crate::{app::LARGE, client::Client, running::Running};

const A_MOMENT: Duration = Duration::from_millis(200);
const HOUR: Duration = Duration::from_secs(3_600);

/// A door with this many connections, where only this timeout ends slow requests.
async fn door_saturated_by(connections: usize, saturated_timeout: Duration) -> Running {
    Running::with(|config| {
        config.limits.connections = Some(connections);
        config.deadlines.header_read = HOUR;
        config.deadlines.body = HOUR;
        config.deadlines.saturated_timeout = saturated_timeout;
    })
    .await
}

#[tokio::test]
async fn connection_over_the_limit_waits_until_another_closes() {
    let door = Running::with(|config| config.limits.connections = Some(1)).await;
    let mut first = door.client().await;
    first.ask("/gated").await;
    door.stage.is_asked("/gated").await;

    let mut second = door.client().await;
    second.ask("/").await;
    assert!(second.hears_nothing_for(A_MOMENT).await);
    assert_eq!(door.stage.paths(), ["/gated"]);

    door.stage.open_gate();
    let answer = first.answer().await;
    assert_eq!((answer.status, answer.header("connection")), (200, vec!["close"]));
    assert_eq!(second.answer().await.status, 200);
}

#[tokio::test]
async fn idle_connection_is_closed_for_a_waiting_client() {
    let door = Running::with(|config| config.limits.connections = Some(2)).await;
    let mut idle = door.client().await;
    let answer = idle.get("/").await;
    assert!(answer.header("connection").is_empty(), "{answer:?}");

    let mut busy = door.client().await;
    busy.ask("/gated").await;
    door.stage.is_asked("/gated").await;
    assert!(idle.hears_nothing_for(A_MOMENT).await);
    assert_eq!(door.client().await.get("/").await.status, 200);
    assert_eq!(idle.closed().await, b"");

    door.stage.open_gate();
    assert_eq!(busy.answer().await.status, 200);
}

#[tokio::test]
async fn large_response_is_complete_when_saturated() {
    let door = Running::with(|config| config.limits.connections = Some(1)).await;
    let mut client = door.client().await;
    client.ask("/large").await;
    client.first_byte().await;
    let mut next = door.client().await;
    next.ask("/").await;
    assert!(next.hears_nothing_for(A_MOMENT).await);
    assert_eq!(client.answer().await.body.len(), LARGE);
    assert_eq!(next.answer().await.status, 200);
}

#[tokio::test]
async fn many_connections_over_the_limit_are_served_in_order() {
    let door = Running::with(|config| config.limits.connections = Some(3)).await;
    let mut flood = Vec::new();
    for _ in 0..100 {
        let mut client = door.client().await;
        client.ask("/").await;
        flood.push(client);
    }
    for mut client in flood {
        assert_eq!(client.answer().await.status, 200);
    }
}

#[tokio::test]
async fn hundreds_of_connections_can_wait() {
    let door = Running::with(|config| config.limits.connections = Some(1)).await;
    let mut busy = door.client().await;
    busy.ask("/gated").await;
    door.stage.is_asked("/gated").await;
    let mut waiting = Vec::new();
    for _ in 0..400 {
        // Does not come back while the queue is full.
        let mut client = door.client().await;
        client.ask("/").await;
        waiting.push(client);
    }
    door.stage.open_gate();
    for mut client in waiting {
        assert_eq!(client.answer().await.status, 200);
    }
    assert_eq!(busy.answer().await.status, 200);
}

#[tokio::test]
async fn silent_connections_are_closed_at_the_header_deadline() {
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
async fn incomplete_header_has_the_short_timeout_when_saturated() {
    let door = door_saturated_by(3, A_MOMENT).await;
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
async fn incomplete_body_has_the_short_timeout_when_saturated() {
    let door = door_saturated_by(1, A_MOMENT).await;
    let mut slow = door.client().await;
    slow.post("/length", 9, "1").await;
    assert_eq!(door.client().await.get("/").await.status, 200);
    assert_eq!(slow.answer().await.status, 408);
}

#[tokio::test]
async fn incomplete_body_from_before_saturation_has_the_short_timeout() {
    let door = door_saturated_by(2, A_MOMENT).await;
    let mut slow = door.client().await;
    slow.post("/length", 9, "1").await;
    door.stage.is_asked("/length").await;
    let mut busy = door.client().await;
    busy.ask("/gated").await;
    door.stage.is_asked("/gated").await;

    assert_eq!(door.client().await.get("/").await.status, 200);
    assert_eq!(slow.answer().await.status, 408);
    door.stage.open_gate();
    assert_eq!(busy.answer().await.status, 200);
}

// On several threads, where requests begin while others are still being accepted.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn new_client_is_served_during_a_flood_of_incomplete_bodies() {
    let door = door_saturated_by(20, A_MOMENT).await;
    let address = door.address;
    let mut flood = tokio::task::JoinSet::new();
    for _ in 0..50 {
        flood.spawn(async move {
            while let Ok(mut slow) = Client::try_connect(address).await {
                slow.post("/length", 9, "1").await;
                slow.closed().await;
            }
        });
    }
    for _ in 0..5 {
        let mut newcomer = door.client().await;
        let answer = tokio::time::timeout(20 * A_MOMENT, newcomer.get("/")).await;
        assert_eq!(answer.map(|answer| answer.status), Ok(200));
    }
}

#[tokio::test]
async fn incomplete_body_has_full_deadline_while_no_client_waits() {
    let door = door_saturated_by(1, A_MOMENT).await;
    let mut slow = door.client().await;
    slow.post("/length", 2, "1").await;
    assert!(slow.hears_nothing_for(2 * A_MOMENT).await);
    slow.send("2").await;
    assert_eq!(slow.answer().await.status, 200);
}

#[tokio::test]
async fn incomplete_body_has_full_deadline_after_saturation() {
    let door = door_saturated_by(1, A_MOMENT).await;
    let mut first = door.client().await;
    first.ask("/gated").await;
    door.stage.is_asked("/gated").await;
    let mut second = door.client().await;
    assert!(second.hears_nothing_for(A_MOMENT).await);
    door.stage.open_gate();
    assert_eq!(first.answer().await.header("connection"), ["close"]);

    second.post("/length", 2, "1").await;
    assert!(second.hears_nothing_for(2 * A_MOMENT).await);
    second.send("2").await;
    assert_eq!(second.answer().await.status, 200);
}

#[tokio::test]
async fn incomplete_body_and_lingering_share_one_short_timeout() {
    let door = door_saturated_by(1, 5 * A_MOMENT).await;
    let mut slow = door.client().await;
    slow.post("/length", 9, "1").await;
    door.stage.is_asked("/length").await;
    let mut next = door.client().await;
    next.ask("/").await;
    assert_eq!(slow.answer().await.status, 408);
    // The refused client stays, and yet does not get another moment.
    let answer = tokio::time::timeout(4 * A_MOMENT, next.answer()).await;
    assert_eq!(answer.map(|answer| answer.status), Ok(200));
}

#[tokio::test]
async fn refused_client_has_the_short_timeout_when_saturated() {
    let door = door_saturated_by(1, A_MOMENT).await;
    let mut refused = door.client().await;
    refused.post("/missing", 9, "").await;
    assert_eq!(refused.answer().await.status, 404);
    let mut next = door.client().await;
    let answer = tokio::time::timeout(10 * A_MOMENT, next.get("/")).await;
    assert_eq!(answer.map(|answer| answer.status), Ok(200));
}

#[tokio::test]
async fn clients_that_do_not_read_are_disconnected_when_saturated() {
    let door = Running::with(|config| {
        config.limits.connections = Some(3);
        config.deadlines.saturated_timeout = A_MOMENT;
        config.deadlines.response = HOUR;
        config.deadlines.stalled_response = HOUR;
    })
    .await;
    let mut stalled = Vec::new();
    for path in ["/large", "/endless", "/large"] {
        let mut client = door.client().await;
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        client.send(request.repeat(3)).await;
        client.first_byte().await;
        stalled.push(client);
    }
    let mut newcomer = door.client().await;
    let answer = tokio::time::timeout(10 * A_MOMENT, newcomer.get("/")).await;
    assert_eq!(answer.map(|answer| answer.status), Ok(200));
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
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

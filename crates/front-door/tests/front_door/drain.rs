//! How the front door closes.

use std::time::Duration;

use keyward_front_door::Drained;

use crate::{
    app::LARGE,
    client::{Client, eventually},
    running::Running,
};

#[tokio::test]
async fn request_in_flight_finishes_while_new_connections_are_refused() {
    let mut door = Running::with_defaults().await;
    let mut client = door.client().await;
    client.ask("/gated").await;
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
async fn body_in_transit_keeps_its_full_deadline_during_drain() {
    let saturated_timeout = Duration::from_millis(200);
    let mut door = Running::with(|config| config.deadlines.saturated_timeout = saturated_timeout).await;
    let mut client = door.client().await;
    client.post("/length", 4, "12").await;
    door.stage.is_asked("/length").await;
    door.stop();
    eventually(async || Client::try_connect(door.address).await.is_err()).await;
    assert!(client.hears_nothing_for(2 * saturated_timeout).await);
    client.send("34").await;
    assert_eq!(client.answer().await.body, "4");
    assert_eq!(door.ended().await, Drained { cut_off: 0 });
}

#[tokio::test]
async fn large_response_is_complete_during_drain() {
    let mut door = Running::with_defaults().await;
    let mut client = door.client().await;
    client.ask("/large").await;
    // From its first byte on, most of the answer waits for the client.
    client.first_byte().await;
    door.stop();
    eventually(async || Client::try_connect(door.address).await.is_err()).await;
    assert_eq!(client.answer().await.body.len(), LARGE);
    assert_eq!(door.ended().await, Drained { cut_off: 0 });
}

#[tokio::test]
async fn idle_connections_delay_the_drain_by_their_grace_period_only() {
    let mut door = Running::with(|config| {
        config.deadlines.drain = Duration::from_secs(3_600);
        config.deadlines.idle_grace = Duration::from_millis(200);
    })
    .await;
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
async fn idle_connection_gets_one_more_response_during_drain() {
    let mut door = Running::with(|config| config.deadlines.idle_grace = Duration::from_secs(3_600)).await;
    let mut idle = door.client().await;
    assert!(idle.get("/").await.header("connection").is_empty());

    door.stop();
    eventually(async || Client::try_connect(door.address).await.is_err()).await;
    let answer = idle.get("/").await;
    assert_eq!((answer.status, answer.header("connection")), (200, vec!["close"]));
    assert_eq!(idle.closed().await, b"");
    assert_eq!(door.ended().await, Drained { cut_off: 0 });
}

#[tokio::test]
async fn keep_alive_clients_lose_no_post_at_shutdown() {
    let mut door = Running::with_defaults().await;
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let mut client = door.client().await;
        clients.spawn(async move {
            loop {
                client.post("/length", 1, "1").await;
                // Fails if the connection is closed instead.
                let answer = client.answer().await;
                assert_eq!(answer.status, 200);
                if answer.header("connection") == ["close"] {
                    return;
                }
            }
        });
    }
    eventually(async || door.stage.paths().len() > 200).await;
    door.stop();
    while let Some(ended) = clients.join_next().await {
        ended.unwrap();
    }
    assert_eq!(door.ended().await, Drained { cut_off: 0 });
}

#[tokio::test]
async fn waiting_clients_are_informed_of_the_shutdown() {
    let mut door = Running::with(|config| config.limits.connections = Some(1)).await;
    let mut busy = door.client().await;
    busy.ask("/gated").await;
    door.stage.is_asked("/gated").await;
    // One waits for its place, the others in the kernel's queue.
    let mut waiting = Vec::new();
    for _ in 0..5 {
        let mut client = door.client().await;
        client.post("/length", 1, "1").await;
        waiting.push(client);
    }

    door.stop();
    for mut client in waiting {
        let answer = client.answer().await;
        assert!(answer.body.starts_with("ShuttingDown POST /length"), "{answer:?}");
        assert_eq!((answer.status, answer.header("retry-after")), (503, vec!["5"]));
        assert_eq!(answer.header("connection"), ["close"]);
    }
    assert_eq!(door.stage.paths(), ["/gated"]);
    door.stage.open_gate();
    assert_eq!(busy.answer().await.status, 200);
    assert_eq!(door.ended().await, Drained { cut_off: 0 });
}

#[tokio::test]
async fn incomplete_header_delays_the_drain_by_the_short_timeout_only() {
    let mut door = Running::with(|config| {
        config.deadlines.header_read = Duration::from_secs(3_600);
        config.deadlines.saturated_timeout = Duration::from_millis(200);
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
async fn stuck_request_is_aborted_at_the_drain_deadline() {
    let mut door = Running::with(|config| {
        config.deadlines.drain = Duration::from_millis(200);
        config.deadlines.handler = Duration::from_secs(3_600);
    })
    .await;
    let mut client = door.client().await;
    client.ask("/never").await;
    door.stage.is_asked("/never").await;

    door.stop();
    let stage = door.stage.clone();
    assert_eq!(door.ended().await, Drained { cut_off: 1 });
    assert_eq!(client.closed().await, b"");
    stage.is_abandoned().await;
}

#[tokio::test]
async fn server_reports_unready_before_it_stops_accepting() {
    let mut door =
        Running::with(|config| config.deadlines.not_ready_notice = Duration::from_secs(3_600)).await;
    assert_eq!(door.client().await.get("/readyz").await.status, 200);
    door.stop();
    eventually(async || door.client().await.get("/readyz").await.status == 503).await;
    assert_eq!(door.client().await.get("/").await.status, 200);
}

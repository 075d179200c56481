//! Deadlines of slow clients.

use std::time::Duration;

use keyward_front_door::Deadlines;
use tokio::time::Instant;

use crate::{app::LARGE, client::soon, running::Running};

const SHORT: Duration = Duration::from_millis(150);
const LONG: Duration = Duration::from_secs(60);

/// Deadlines that do not end within a test.
const LONG_DEADLINES: Deadlines = Deadlines {
    header_read: LONG,
    saturated_timeout: LONG,
    keep_alive: LONG,
    body: LONG,
    handler: LONG,
    response: LONG,
    stalled_response: LONG,
    idle_grace: LONG,
    not_ready_notice: Duration::ZERO,
    drain: LONG,
};
const SHORT_HEADER_READ: Deadlines = Deadlines {
    header_read: SHORT,
    ..LONG_DEADLINES
};
const SHORT_BODY: Deadlines = Deadlines {
    body: SHORT,
    ..LONG_DEADLINES
};
const SHORT_HANDLER: Deadlines = Deadlines {
    handler: SHORT,
    ..LONG_DEADLINES
};
const SHORT_KEEP_ALIVE: Deadlines = Deadlines {
    keep_alive: SHORT,
    ..LONG_DEADLINES
};

async fn door_with(deadlines: Deadlines) -> Running {
    Running::with(|config| config.deadlines = deadlines).await
}

/// A door that ends responses at their deadline, for one client after the other.
async fn door_with_short_responses() -> Running {
    Running::with(|config| {
        config.deadlines = Deadlines {
            response: SHORT,
            ..LONG_DEADLINES
        };
        config.limits.connections = Some(1);
    })
    .await
}

#[tokio::test]
async fn connection_without_request_is_closed_at_the_header_deadline() {
    let door = door_with(SHORT_HEADER_READ).await;
    let mut client = door.client().await;
    assert_eq!(client.closed().await, b"");
}

#[tokio::test]
async fn incomplete_header_is_closed_at_the_header_deadline() {
    let door = door_with(SHORT_HEADER_READ).await;
    let mut client = door.client().await;
    client.send("GET / HTTP/1.1\r\nHost: local").await;
    assert_eq!(client.closed().await, b"");
    assert!(door.stage.paths().is_empty());
}

#[tokio::test]
async fn trickling_headers_do_not_extend_their_deadline() {
    let door = door_with(SHORT_HEADER_READ).await;
    let mut client = door.client().await;
    client.send("GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ").await;
    soon(async {
        while client.hears_nothing_for(Duration::from_millis(10)).await {
            if client.try_send("x").await.is_err() {
                break;
            }
        }
    })
    .await;
    assert!(door.stage.paths().is_empty());
}

#[tokio::test]
async fn second_request_has_the_header_deadline_from_its_first_byte() {
    let door = door_with(SHORT_HEADER_READ).await;
    let mut client = door.client().await;
    assert_eq!(client.get("/").await.status, 200);
    client.send("GET").await;
    assert_eq!(client.closed().await, b"");
}

#[tokio::test]
async fn idle_connection_outlives_the_header_deadline() {
    let door = door_with(SHORT_HEADER_READ).await;
    let mut client = door.client().await;
    assert_eq!(client.get("/").await.status, 200);
    assert!(client.hears_nothing_for(3 * SHORT).await);
    assert_eq!(client.get("/").await.status, 200);
}

#[tokio::test]
async fn handler_outlives_the_connection_deadlines() {
    let door = door_with(Deadlines {
        header_read: SHORT,
        keep_alive: SHORT,
        response: SHORT,
        ..LONG_DEADLINES
    })
    .await;
    let mut client = door.client().await;
    client.ask("/gated").await;
    assert!(client.hears_nothing_for(3 * SHORT).await);
    door.stage.open_gate();
    assert_eq!(client.answer().await.status, 200);
}

#[tokio::test]
async fn idle_connection_is_closed_at_the_keep_alive_deadline() {
    let door = door_with(SHORT_KEEP_ALIVE).await;
    let mut client = door.client().await;
    assert_eq!(client.get("/").await.status, 200);
    assert_eq!(client.closed().await, b"");
}

#[tokio::test]
async fn idle_connection_after_slow_requests_has_the_keep_alive_deadline() {
    let door = door_with(SHORT_KEEP_ALIVE).await;
    let mut client = door.client().await;
    for path in ["/", "/gated"] {
        client.ask(path).await;
        door.stage.is_asked(path).await;
        door.stage.open_gate();
        assert_eq!(client.answer().await.status, 200);
    }
    assert_eq!(client.closed().await, b"");
}

#[tokio::test]
async fn slow_body_fails_in_the_handler_with_timed_out() {
    let door = door_with(SHORT_BODY).await;
    let mut client = door.client().await;
    client.post("/length", 10, "123").await;
    let answer = client.answer().await;
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (408, "said by the application")
    );
    assert_eq!(door.stage.body_errors(), [std::io::ErrorKind::TimedOut]);
    assert_eq!(answer.header("connection"), ["close"]);
    assert_eq!(client.closed().await, b"");
}

#[tokio::test]
async fn slow_body_is_408_despite_application_400() {
    let door = door_with(SHORT_BODY).await;
    let mut client = door.client().await;
    client
        .send(
            "POST /length-unmapped HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n123",
        )
        .await;
    let answer = client.answer().await;
    assert_eq!(answer.status, 408);
    assert!(
        answer.body.starts_with("BodyTooSlow POST /length-unmapped"),
        "{answer:?}"
    );
}

#[tokio::test]
async fn trickling_body_does_not_extend_its_deadline() {
    let door = door_with(SHORT_BODY).await;
    let mut client = door.client().await;
    client.post("/length", 60000, "").await;
    soon(async {
        while client.hears_nothing_for(Duration::from_millis(10)).await {
            client.send("x").await;
        }
    })
    .await;
    assert_eq!(client.answer().await.status, 408);
}

#[tokio::test]
async fn handler_over_its_deadline_is_dropped_with_503() {
    let door = door_with(SHORT_HANDLER).await;
    let mut client = door.client().await;
    let answer = client.get("/never").await;
    assert_eq!(answer.status, 503);
    assert!(answer.body.starts_with("HandlerTooSlow GET /never"), "{answer:?}");
    assert_eq!(answer.header("retry-after").len(), 1);
    // State of the previous request must not affect the next answer.
    assert_eq!(answer.header("connection"), ["close"]);
    door.stage.is_abandoned().await;
    assert_eq!(door.client().await.get("/").await.status, 200);
}

#[tokio::test]
async fn handler_over_its_deadline_after_the_body_is_503() {
    let door = door_with(SHORT_HANDLER).await;
    let mut client = door.client().await;
    client.post("/length-then-never", 2, "12").await;
    assert_eq!(client.answer().await.status, 503);
}

#[tokio::test]
async fn waiting_for_the_body_does_not_count_as_handler_time() {
    let door = door_with(SHORT_HANDLER).await;
    let mut client = door.client().await;
    client.post("/length", 2, "1").await;
    assert!(client.hears_nothing_for(3 * SHORT).await);
    client.send("2").await;
    let answer = client.answer().await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "2"));
}

#[tokio::test]
async fn client_not_reading_is_disconnected_at_the_response_deadline() {
    let door = door_with_short_responses().await;
    let mut stuck = door.client().await;
    stuck.ask("/large").await;
    door.stage.is_asked("/large").await;
    assert_eq!(door.client().await.get("/").await.status, 200);
}

#[tokio::test]
async fn stalled_reader_is_disconnected_while_a_slow_reader_gets_everything() {
    let door = Running::with(|config| {
        config.deadlines = Deadlines {
            saturated_timeout: 4 * SHORT,
            ..LONG_DEADLINES
        };
        config.limits.connections = Some(2);
        config.limits.unsent_bytes = Some(LARGE as u64);
    })
    .await;
    let mut slow = door.client().await;
    slow.ask("/large").await;
    slow.first_byte().await;
    let mut stuck = door.client().await;
    stuck.ask("/large").await;
    stuck.first_byte().await;
    let mut other = door.client().await;
    let read_slowly = async {
        loop {
            slow.reads_a_little().await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        () = read_slowly => {}
        answer = other.get("/") => assert_eq!(answer.status, 200),
    }
    assert_eq!(slow.answer().await.body.len(), LARGE);
}

#[tokio::test]
async fn streamed_response_outlives_the_response_deadline_while_read() {
    let door = door_with(Deadlines {
        response: 2 * SHORT,
        ..LONG_DEADLINES
    })
    .await;
    let mut client = door.client().await;
    client.ask("/slow-stream").await;
    let begun = Instant::now();
    let answer = client.closed_or_answered(b"\r\n0\r\n\r\n").await;
    assert!(
        begun.elapsed() > 4 * SHORT,
        "it took long enough: {:?}",
        begun.elapsed()
    );
    assert!(
        answer.ends_with(b"\r\n0\r\n\r\n"),
        "cut off after {} bytes",
        answer.len()
    );
}

#[tokio::test]
async fn streamed_response_to_a_trickling_reader_is_aborted() {
    let door = door_with_short_responses().await;
    let mut dripping = door.client().await;
    dripping.ask("/endless").await;
    door.stage.is_asked("/endless").await;
    let drip = async {
        loop {
            dripping.first_byte().await;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let mut other = door.client().await;
    tokio::select! {
        () = drip => {}
        answer = other.get("/") => assert_eq!(answer.status, 200),
    }
}

#[tokio::test]
async fn endless_response_is_aborted_at_the_response_deadline() {
    let door = door_with_short_responses().await;
    let mut client = door.client().await;
    client.ask("/unending").await;
    let answer = String::from_utf8(client.closed().await).unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.contains("once upon a time"),
        "{answer}"
    );
}

//! Bodies up to the limit, in each framing.

use crate::running::Running;

const CAP: usize = 64 * 1024;

fn with_length(path: &str, bytes: usize) -> Vec<u8> {
    let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {bytes}\r\n\r\n");
    [head.into_bytes(), vec![b'x'; bytes]].concat()
}

fn chunked(path: &str, chunks: &[usize]) -> Vec<u8> {
    let mut request =
        format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n").into_bytes();
    for bytes in chunks {
        request.extend(format!("{bytes:x}\r\n").into_bytes());
        request.extend(vec![b'x'; *bytes]);
        request.extend(b"\r\n");
    }
    request.extend(b"0\r\n\r\n");
    request
}

#[tokio::test]
async fn body_at_the_limit_is_read() {
    let door = Running::with_defaults().await;
    for request in [
        with_length("/length", CAP),
        chunked("/length", &[CAP / 2, CAP / 2]),
    ] {
        let mut client = door.client().await;
        client.send(request).await;
        let answer = client.answer().await;
        assert_eq!(
            (answer.status, answer.body.as_str()),
            (200, CAP.to_string().as_str())
        );
        assert!(answer.header("connection").is_empty(), "{answer:?}");
        assert_eq!(client.get("/").await.status, 200);
    }
}

#[tokio::test]
async fn declared_body_over_the_limit_never_reaches_the_application() {
    let door = Running::with_defaults().await;
    let mut client = door.client().await;
    client.send(with_length("/length", CAP + 1)).await;
    let answer = client.answer().await;
    assert_eq!(answer.status, 413);
    assert!(answer.body.starts_with("BodyTooLarge POST /length"), "{answer:?}");
    assert_eq!(answer.header("connection"), ["close"]);
    assert!(door.stage.paths().is_empty());
}

#[tokio::test]
async fn named_path_accepts_larger_bodies_up_to_its_limit() {
    let door = Running::with(|config| config.larger_bodies = &[("/length", 2 * CAP)]).await;
    for (request, status) in [
        (with_length("/length", 2 * CAP), 200),
        (chunked("/length", &[CAP, CAP]), 200),
        (with_length("/length", 2 * CAP + 1), 413),
        (chunked("/length", &[2 * CAP, 1]), 413),
        (with_length("/length-unmapped", CAP + 1), 413),
    ] {
        let mut client = door.client().await;
        client.send(request).await;
        assert_eq!(client.answer().await.status, status);
    }
}

#[tokio::test]
async fn chunked_body_over_the_limit_is_413_in_application_format() {
    let door = Running::with_defaults().await;
    let mut client = door.client().await;
    client.send(chunked("/length", &[CAP, 1])).await;
    let answer = client.answer().await;
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (413, "said by the application")
    );
    assert_eq!(door.stage.body_errors(), [std::io::ErrorKind::FileTooLarge]);
}

#[tokio::test]
async fn chunked_body_over_the_limit_is_413_despite_application_400() {
    let door = Running::with_defaults().await;
    let mut client = door.client().await;
    client.send(chunked("/length-unmapped", &[CAP + 1])).await;
    let answer = client.answer().await;
    assert_eq!(answer.status, 413);
    assert!(
        answer.body.starts_with("BodyTooLarge POST /length-unmapped"),
        "{answer:?}"
    );
}

#[tokio::test]
async fn client_sending_far_too_much_still_receives_the_response() {
    let door = Running::with_defaults().await;
    for request in [
        with_length("/length", 10 * CAP),
        chunked("/length", &[10 * CAP]),
        with_length("/", CAP),
    ] {
        let mut client = door.client().await;
        client.send(request).await;
        let answer = client.answer().await;
        assert!([200, 413].contains(&answer.status), "{answer:?}");
    }
}

#[tokio::test]
async fn refused_client_may_finish_sending_before_reading_the_response() {
    let door = Running::with_defaults().await;
    for (refused, status) in [
        (&with_length("/length", 10 * CAP)[..1_000], 413),
        (&chunked("/length", &[10 * CAP])[..CAP + 1_000], 413),
        (&with_length("/missing", CAP)[..1_000], 404),
        (
            format!("GET / HTTP/1.1\r\nX-Long: {}", "x".repeat(CAP)).as_bytes(),
            431,
        ),
    ] {
        let mut client = door.client().await;
        client.send(refused).await;
        assert_eq!(client.answer().await.status, status);
        // The server's half is closed; a reset would now destroy bytes that the client has not read yet.
        assert_eq!(client.closed().await, b"");
        for _ in 0..8 {
            client.send(vec![b'x'; 8 * 1024]).await;
        }
    }
}

#[tokio::test]
async fn oversized_body_announced_with_expect_gets_no_100_continue() {
    let door = Running::with_defaults().await;
    let mut client = door.client().await;
    client
        .send("POST /length HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 99999\r\n\r\n")
        .await;
    assert_eq!(client.answer().await.status, 413);
}

#[tokio::test]
async fn request_with_two_framings_is_read_as_chunked_then_closed() {
    let door = Running::with_defaults().await;
    for framing in [
        "Content-Length: 44\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 44",
    ] {
        let mut client = door.client().await;
        client
            .send(format!(
                "POST /length HTTP/1.1\r\nHost: localhost\r\n{framing}\r\n\r\n0\r\n\r\n\
                 GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
            ))
            .await;
        let answer = client.answer().await;
        assert_eq!((answer.status, answer.body.as_str()), (200, "0"));
        assert_eq!(answer.header("connection"), ["close"]);
        assert_eq!(client.closed().await, b"");
    }
    assert_eq!(door.stage.paths(), ["/length", "/length"]);
}

#[tokio::test]
async fn contradictory_framings_are_rejected() {
    let door = Running::with_defaults().await;
    for framing in [
        "Content-Length: 1\r\nContent-Length: 2",
        "Content-Length: 1, 2",
        "Content-Length: -1",
        "Content-Length: +1",
        "Content-Length : 1",
        "Transfer-Encoding: gzip",
        "Transfer-Encoding: chunked, gzip",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding : chunked",
    ] {
        let mut client = door.client().await;
        client
            .send(format!(
                "POST /length HTTP/1.1\r\nHost: localhost\r\n{framing}\r\n\r\n0\r\n\r\n"
            ))
            .await;
        assert_eq!(client.answer().await.status, 400, "{framing}");
        assert_eq!(client.closed().await, b"");
    }
    assert!(door.stage.paths().is_empty());
}

#[tokio::test]
async fn transfer_coding_other_than_one_chunked_is_rejected() {
    let door = Running::with_defaults().await;
    for framing in [
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: foo, chunked",
        "Transfer-Encoding: identity, chunked",
        "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked",
    ] {
        let mut client = door.client().await;
        client
            .send(format!(
                "POST /length HTTP/1.1\r\nHost: localhost\r\n{framing}\r\n\r\n0\r\n\r\n"
            ))
            .await;
        let answer = client.answer().await;
        assert_eq!(answer.status, 400, "{framing}");
        assert!(
            answer.body.starts_with("UnknownTransferCoding POST /length"),
            "{answer:?}"
        );
        assert_eq!(answer.header("connection"), ["close"]);
        assert_eq!(client.closed().await, b"");
    }
    assert!(door.stage.paths().is_empty());
}

#[tokio::test]
async fn chunked_in_any_case_is_accepted() {
    let door = Running::with_defaults().await;
    let mut client = door.client().await;
    for coding in ["chunked", "CHUNKED", " Chunked\t"] {
        client
            .send(format!(
                "POST /length HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: {coding}\r\n\r\n0\r\n\r\n"
            ))
            .await;
        let answer = client.answer().await;
        assert_eq!((answer.status, answer.body.as_str()), (200, "0"), "{coding}");
    }
}

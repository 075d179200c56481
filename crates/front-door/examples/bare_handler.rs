//! What a request costs at the least: a poem handler behind poem's own server, without anything of Keyward.
//!
//! `bare_handler ADDRESS STATUS CONTENT_TYPE` answers every request with that status, that type (none if it
//! is empty) and the bytes of its standard input. `cargo xtask bench` measures Keyward against it.

#![expect(
    clippy::print_stderr,
    reason = "a program tells on standard error why it ends"
)]

use std::io::Read as _;
use std::process::ExitCode;

use bytes::Bytes;
use poem::http::StatusCode;
use poem::listener::TcpListener;
use poem::{Endpoint, Response, Server, endpoint::make_sync};

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, status, content_type] = arguments.as_slice() else {
        eprintln!("usage: bare_handler ADDRESS STATUS CONTENT_TYPE < BODY");
        return ExitCode::from(2);
    };
    let Ok(status) = status.parse::<StatusCode>() else {
        eprintln!("not a status: {status}");
        return ExitCode::from(2);
    };
    let mut body = Vec::new();
    let ended = match std::io::stdin().read_to_end(&mut body) {
        Ok(_) => {
            let handler = handler(status, content_type.clone(), body.into());
            Server::new(TcpListener::bind(address.clone())).run(handler).await
        }
        Err(error) => Err(error),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn handler(status: StatusCode, content_type: String, body: Bytes) -> impl Endpoint {
    make_sync(move |_| {
        let answer = Response::builder().status(status);
        let answer = if content_type.is_empty() {
            answer
        } else {
            answer.content_type(&content_type)
        };
        answer.body(body.clone())
    })
}

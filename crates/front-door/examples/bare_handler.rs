//! The minimum cost of a request: a poem handler behind poem's own server, without anything of Keyward, or
//! behind the front door, which then logs nothing.
//!
//! `bare_handler SERVER ADDRESS STATUS [NAME VALUE]...` answers every request with that status, these headers
//! and the bytes of its standard input. `SERVER` is `poem` or `front-door`. `cargo xtask bench` measures
//! Keyward against it.

#![expect(
    clippy::print_stderr,
    reason = "a program tells on standard error why it ends"
)]

use std::future::pending;
use std::io::{self, Read as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use keyward_front_door::{FrontDoor, FrontDoorConfig, listen};
use mimalloc::MiMalloc;
use poem::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use poem::listener::TcpListener;
use poem::{Endpoint, Response, Server, endpoint::make_sync};
use uuid::Uuid;

/// Keyward's allocator, so that only the work differs.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [server, address, status, headers @ ..] = arguments.as_slice() else {
        eprintln!("usage: bare_handler poem|front-door ADDRESS STATUS [NAME VALUE]... < BODY");
        return ExitCode::from(2);
    };
    let Ok(status) = status.parse::<StatusCode>() else {
        eprintln!("not a status: {status}");
        return ExitCode::from(2);
    };
    let Some(headers) = headers.chunks(2).map(header).collect::<Option<HeaderMap>>() else {
        eprintln!("not the names and values of headers: {headers:?}");
        return ExitCode::from(2);
    };
    let mut body = Vec::new();
    let ended = match io::stdin().read_to_end(&mut body) {
        Ok(_) => {
            let handler = handler(status, headers, body.into());
            match server.as_str() {
                "poem" => Server::new(TcpListener::bind(address.clone())).run(handler).await,
                "front-door" => behind_front_door(address, handler).await,
                other => Err(io::Error::other(format!("no such server: {other}"))),
            }
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

async fn behind_front_door(address: &str, handler: impl Endpoint + 'static) -> io::Result<()> {
    let ids = AtomicU64::new(0);
    let next_id = move || Uuid::from_u64_pair(0, ids.fetch_add(1, Ordering::Relaxed));
    let config = FrontDoorConfig::new(Arc::new(next_id));
    let front_door = FrontDoor::new(config).map_err(io::Error::other)?;
    let address = address.parse().map_err(io::Error::other)?;
    front_door.serve(listen(address)?, handler, pending()).await;
    Ok(())
}

fn header(words: &[String]) -> Option<(HeaderName, HeaderValue)> {
    let [name, value] = words else { return None };
    Some((name.parse().ok()?, value.parse().ok()?))
}

fn handler(status: StatusCode, headers: HeaderMap, body: Bytes) -> impl Endpoint {
    make_sync(move |_| {
        let mut answer = Response::builder().status(status).body(body.clone());
        *answer.headers_mut() = headers.clone();
        answer
    })
}

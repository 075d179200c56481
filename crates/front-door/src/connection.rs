//! One connection from its first byte to its close.

use std::{
    convert::Infallible,
    future::poll_fn,
    io,
    net::SocketAddr,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::FutureExt;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use poem::{Endpoint, http::Request};
use tokio::{
    io::AsyncWriteExt,
    net::TcpStream,
    time::{Instant, Sleep, sleep_until},
};
use tracing::{debug, info, warn};

use crate::{
    activity::Activity,
    config::Limits,
    exchange::{Exchanges, Origin, request_span},
    serving_state::{self, ServingState},
    watched_socket::WatchedSocket,
};

/// How long to keep discarding what a refused client still sends, so that it reads the answer: closing a
/// socket with unread bytes resets the connection and destroys the answer on its way. While other clients
/// wait, the time counts from the end of its headers, and is no longer than that for a body that is read.
const LINGER: Duration = Duration::from_secs(5);

/// The maximum that is discarded in that time: more than a client that reads answers only after it has sent
/// all (Node's) is likely to send by mistake.
const LINGER_BYTES: usize = 16 * 1024 * 1024;

/// How many headers hyper reads by default; it answers 431 to more.
const HYPER_DEFAULT_MAX_HEADERS: usize = 100;

/// hyper's HTTP/1 with the limits. Its deadline for headers is off: it would count the time between two
/// requests in, and there is none for answers. [`Activity`] has them all.
pub(crate) fn http1_builder(limits: &Limits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(None)
        .max_header_size(limits.header_bytes)
        .max_buf_size(limits.header_bytes);
    // With `max_headers`, hyper initializes room for all these headers at each request. Below hyper's
    // default, admission counts them instead.
    if limits.headers > HYPER_DEFAULT_MAX_HEADERS {
        builder.max_headers(limits.headers);
    }
    builder
}

/// Serves the requests of one connection until it ends, or until it is asked to go.
pub(crate) async fn serve<E: Endpoint + 'static>(
    builder: &http1::Builder,
    socket: TcpStream,
    peer: SocketAddr,
    exchanges: Arc<Exchanges<E>>,
    is_too_late: bool,
) {
    let Ok(local) = socket.local_addr() else { return };
    // Without it, small answers wait for the client's delayed acknowledgement. If it fails they still arrive.
    _ = socket.set_nodelay(true);
    let activity = Arc::new(Activity::new(
        exchanges.config.deadlines,
        exchanges.unsent.clone(),
    ));
    let stream = TokioIo::new(WatchedSocket {
        socket,
        activity: activity.clone(),
    });
    // Has not seen any change yet, and so sees those before this connection came, too.
    let mut serving_changes = exchanges.serving.clone();
    let mut serving = *serving_changes.borrow();
    let origin = Origin {
        peer,
        local,
        activity: activity.clone(),
        is_too_late,
    };
    let service = service_fn(move |request: Request<Incoming>| {
        let answer = exchanges.clone().answer(request, origin.clone());
        answer.map(Ok::<_, Infallible>)
    });
    let mut connection = builder.serve_connection(stream, service);

    let mut alarm = pin!(sleep_until(Instant::now()));
    let outcome = loop {
        serving = tokio::select! {
            biased;
            // Sends the buffered bytes and closes our half before it ends.
            outcome = &mut connection => break outcome,
            () = poll_fn(|context| poll_overdue(&activity, &serving, alarm.as_mut(), context)) => {
                match activity.unfinished_answer() {
                    Some(id) if activity.waits_for_client() => request_span(&id).in_scope(|| {
                        warn!(%peer, "response cut off: client reads too slowly");
                    }),
                    Some(id) => request_span(&id).in_scope(|| {
                        warn!(%peer, "response cut off: application writes too slowly");
                    }),
                    None => debug!(%peer, "connection closed at its deadline"),
                }
                return;
            }
            Ok(()) = serving_changes.changed() => *serving_changes.borrow_and_update(),
        };
        // A client that waits for its first answer still gets it, even while others wait for a place, and is
        // then asked to close. The drain cuts no connection here: answers say `Connection: close`, and idle
        // connections have a grace.
        if serving.saturation.since().is_some() && activity.is_served() {
            Pin::new(&mut connection).graceful_shutdown();
        }
    };

    let socket = connection.into_parts().io.into_inner().socket;
    let is_sending = match outcome {
        Ok(()) => activity.has_unread_body(),
        Err(error) => {
            match activity.unfinished_answer() {
                Some(id) => request_span(&id).in_scope(|| info!(%error, %peer, "response failed")),
                // hyper has answered it with 400, 414 or 431, and the application does not get it.
                None if error.is_parse() => info!(%error, %peer, "request not readable"),
                None => debug!(%error, %peer, "connection ended"),
            }
            error.is_parse()
        }
    };
    if is_sending {
        let read_deadline = activity.read_deadline(Instant::now() + LINGER);
        let too_slow = serving_state::until(serving_changes, move |serving| {
            read_deadline.at(serving.short_timeout())
        });
        tokio::select! {
            biased;
            () = linger(socket) => {}
            () = too_slow => {}
        }
    }
}

/// Ready when the client has missed its deadline. The deadline only moves while hyper is polled, so it is up
/// to date if this is polled after hyper.
///
/// Nearly every request moves the deadline on. The alarm is not moved each time, but set anew if it goes off
/// too soon, so that the runtime's timers, which share a lock, are not touched at each request.
fn poll_overdue(
    activity: &Activity,
    serving: &ServingState,
    mut alarm: Pin<&mut Sleep>,
    context: &mut Context<'_>,
) -> Poll<()> {
    let Some(deadline) = activity.deadline(serving) else {
        return Poll::Pending;
    };
    if deadline < alarm.deadline() {
        alarm.as_mut().reset(deadline);
    }
    while alarm.as_mut().poll(context).is_ready() {
        if alarm.deadline() >= deadline {
            return Poll::Ready(());
        }
        alarm.as_mut().reset(deadline);
    }
    Poll::Pending
}

/// Closes our half, which hyper has done unless it had nothing to say, and reads until the client closes its
/// own.
async fn linger(mut socket: TcpStream) {
    _ = socket.shutdown().await;
    let mut thrown_away = 0;
    let mut buffer = [0; 4096];
    while thrown_away < LINGER_BYTES && socket.readable().await.is_ok() {
        match socket.try_read(&mut buffer) {
            Ok(0) => break,
            Ok(bytes) => thrown_away += bytes,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
    }
}

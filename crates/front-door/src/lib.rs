//! The server in front of every HTTP adapter of Keyward: accept loop, deadlines, limits, client address, request id,
//! headers. It uses hyper and poem, and nothing of the domain.
//!
//! ```no_run
//! # async fn run(app: impl poem::Endpoint + 'static, ids: keyward_front_door::RequestIds) -> Result<(), Box<dyn std::error::Error>> {
//! use keyward_front_door::{FrontDoor, FrontDoorConfig};
//!
//! let front_door = FrontDoor::new(FrontDoorConfig::new(ids))?;
//! let readiness = front_door.readiness(); // for the endpoint `/readyz`
//! let listener = keyward_front_door::listen(([127, 0, 0, 1], 8080).into())?;
//! let drained = front_door.serve(listener, app, async { /* SIGTERM */ }).await;
//! # Ok(()) }
//! ```
//!
//! # What an adapter may rely on
//! - The request header [`REQUEST_ID`] holds this request's id: a trusted proxy's, if that is short and has only
//!   harmless characters, else one made here. An id from the client is never used. Log lines have it in their span,
//!   which has an empty field `key_id` for the adapter that authenticates by keys.
//! - In the path, unreserved characters are not percent-encoded.
//! - `request.remote_addr()` is the client's address: the socket's peer, or the address that a trusted proxy
//!   forwarded. The port is 0 if the proxy did not forward it. If they differ, the request's data holds the
//!   peer as [`PeerAddress`].
//! - There is exactly one plausible `Host`, or in HTTP/1.0 none, and no transfer coding but `chunked`, once.
//!   TRACE and CONNECT never arrive: the front door answers them with 405, and takes `Allow` from the
//!   application's OPTIONS response.
//! - Reading a body ends with an [`std::io::Error`] of kind `TimedOut` after the body deadline (→ 408) and of
//!   kind `FileTooLarge` beyond the cap (→ 413). Any other error answer is then replaced by the 408 or 413 of
//!   the [`ErrorPages`].
//! - The handler is dropped at the handler deadline (→ 503) and when the client closes the connection, even
//!   if it closes only its sending half. Spawn work that must complete.
//! - An answer 503 gets `Retry-After`, unless it has one.
//! - Security headers are set on every answer; of these, only `Content-Security-Policy` and `Referrer-Policy`
//!   are the adapter's to choose.
//!
//! In return, an adapter never puts a secret into a path. Paths are logged, except parts of over 40 bytes;
//! query strings, headers and bodies are not.
//!
//! hyper itself answers invalid HTTP (400), too large headers and more than 100 of them (431), without a body. More
//! headers than [`Limits::headers`] get the same 431.
//!
//! # Map
//! | module | holds |
//! |---|---|
//! | `config` | every deadline and limit, its default and the reason for it |
//! | `open_files`, `memory` | how many connections the process may hold |
//! | `door` | [`FrontDoor`]: accepts, counts, drains |
//! | `listen` | the listening socket |
//! | `accept` | the next connection, with a pause after an error |
//! | `serving_state` | [`Readiness`], and the state that all connections follow: saturated, full of unsent answers, draining |
//! | `saturation` | whether clients wait for a connection, and the shorter timeouts of others then |
//! | `occupancy` | [`Occupancy`]: how many connections are in use, and a line in the log when clients wait for one |
//! | `read_deadline` | when a client must have sent the bytes that it owes |
//! | `connection` | one connection from its first byte to its close |
//! | `activity` | the phase of a connection, and its deadline |
//! | `watched_socket` | the socket; reports I/O to `activity` |
//! | `exchange` | one request and its answer |
//! | `admission` | which requests are accepted: methods, `Host`, transfer coding, announced length |
//! | `unsent` | how much of all answers waits for clients |
//! | `request_body` | the body with its deadline and cap |
//! | `client_address`, `forwarded`, `ip_network` | the client's address |
//! | `proxy_warnings` | proxies that are not named, or write the other header |
//! | `request_id` | the id every answer carries |
//! | `request_path` | one form of each path |
//! | `refusal` | the front door's own answers, and their [`ErrorPages`] |
//! | `security_headers` | the headers on every answer |
//! | `request_log` | one event per request |
//! | `shown_path` | its path as the log shows it |
//! | `observer` | a callback after each request |
//! | `trace_context`, `tracer` | the trace context of a request, and its span here |

mod accept;
mod activity;
mod admission;
mod client_address;
mod config;
mod connection;
mod door;
mod exchange;
mod forwarded;
mod ip_network;
mod listen;
mod memory;
mod observer;
mod occupancy;
mod open_files;
mod proxy_warnings;
mod read_deadline;
mod refusal;
mod request_body;
mod request_id;
mod request_log;
mod request_path;
mod saturation;
mod security_headers;
mod serving_state;
mod shown_path;
mod trace_context;
mod tracer;
mod unsent;
mod watched_socket;

pub use client_address::{ForwardedHeader, PeerAddress, TrustedProxies};
pub use config::{ConfigError, Deadlines, FrontDoorConfig, Limits, RequestIds};
pub use door::{Drained, FrontDoor};
pub use ip_network::{InvalidNetwork, parse_network};
pub use listen::listen;
pub use observer::{Exchanged, Observer};
pub use occupancy::Occupancy;
pub use refusal::{ErrorPages, RefusalReason, Refused};
pub use request_id::REQUEST_ID;
pub use serving_state::Readiness;
pub use trace_context::TraceParent;
pub use tracer::{Received, TRACED, Tracer};

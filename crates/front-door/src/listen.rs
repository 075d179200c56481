//! The listening socket.

use std::{io, net::SocketAddr};

use tokio::net::{TcpListener, TcpSocket};

/// How many connections may wait in the kernel's queue, as far as the system allows (Linux:
/// `net.core.somaxconn`). A client that comes to a full queue gets no answer and tries again after 1 s, 3 s,
/// 7 s, 15 s, ….
pub(crate) const BACKLOG: u32 = 4_096;

/// Bytes of an answer that wait in the kernel for one client. Without a limit the buffer grows to 4 MiB for
/// each client that does not read.
pub(crate) const SEND_BUFFER: u32 = 64 * 1024;

/// Listens at `address` as [`FrontDoor::serve`](crate::FrontDoor::serve) expects it.
///
/// # Errors
/// The address is taken, not this machine's or not allowed.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // So that a restart need not wait for the connections of before.
    socket.set_reuseaddr(true)?;
    // Accepted sockets inherit it.
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

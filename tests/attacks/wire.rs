//! The attackers' HTTP: text on a TCP connection, as cheap as it can be, and as broken as it is meant to be.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpSocket, TcpStream};

/// A connection that stays open between requests.
pub(crate) struct Wire(BufReader<TcpStream>);

/// An answer, whole.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Wire {
    /// Connects from any address of this machine.
    pub(crate) async fn open(server: SocketAddr, from: Ipv4Addr) -> io::Result<Self> {
        let stream = connect(server, from, None).await?;
        Ok(Self(BufReader::new(stream)))
    }

    /// Sends a request and reads its answer.
    pub(crate) async fn ask(&mut self, request: &str) -> io::Result<Answer> {
        self.0.get_mut().write_all(request.as_bytes()).await?;
        let mut line = String::new();
        self.read_line(&mut line).await?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or(io::ErrorKind::InvalidData)?;
        let mut length = 0;
        loop {
            self.read_line(&mut line).await?;
            match line.trim_end().split_once(':') {
                None => break,
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.trim().parse().map_err(io::Error::other)?;
                }
                Some(_) => {}
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).await?;
        let body = String::from_utf8_lossy(&body).into_owned();
        Ok(Answer { status, body })
    }

    async fn read_line(&mut self, line: &mut String) -> io::Result<()> {
        line.clear();
        match self.0.read_line(line).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

/// Connects from `from`; a small `window` lets the server send hardly anything that is not read.
pub(crate) async fn connect(
    server: SocketAddr,
    from: Ipv4Addr,
    window: Option<u32>,
) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    if let Some(window) = window {
        socket.set_recv_buffer_size(window)?;
    }
    socket.bind((from, 0).into())?;
    socket.connect(server).await
}

/// A request in HTTP/1.1; `headers` end with a line break each.
pub(crate) fn request(server: SocketAddr, method: &str, path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("{method} {path} HTTP/1.1\r\nHost: {server}\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
}

/// Another address of this machine each time: 127.64.0.1 and on.
pub(crate) fn another_address() -> Ipv4Addr {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let first = u32::from(Ipv4Addr::new(127, 64, 0, 1));
    let number = NEXT.fetch_add(1, Ordering::Relaxed) % 0x003f_0000;
    Ipv4Addr::from(first + number)
}

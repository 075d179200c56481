//! A TCP proxy between a server and its database. It can delay data, or stop passing it on without closing
//! connections.

mod conduct;

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use conduct::{Conduct, Connection, SilentListeners, until_mended};

/// Passes connections on until it is dropped.
pub(crate) struct Proxy {
    address: SocketAddr,
    conduct: watch::Sender<Conduct>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    pub(crate) async fn begin(to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("its address");
        let (conduct, conducts) = watch::channel(Conduct::leading_to(to));
        let accepting = tokio::spawn(async move {
            let connections = Connections::default();
            while let Ok((client, _)) = listener.accept().await {
                connections.add(tokio::spawn(pass_on(client, conducts.clone())));
            }
        });
        Self {
            address,
            conduct,
            accepting,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets where new connections lead.
    pub(crate) fn lead_to(&self, to: SocketAddr) {
        self.conduct.send_modify(|conduct| conduct.to = to);
    }

    pub(crate) fn cut(&self) {
        self.conduct.send_modify(|conduct| conduct.is_cut = true);
    }

    /// Cuts the connections that listen for changes now, but not those that replace them.
    pub(crate) fn silence_listeners(&self) {
        let silent = SilentListeners::BegunBefore(Instant::now());
        self.conduct.send_modify(|conduct| conduct.silent = silent);
    }

    /// Cuts all connections that listen for changes, also later ones.
    pub(crate) fn silence_every_listener(&self) {
        self.conduct
            .send_modify(|conduct| conduct.silent = SilentListeners::All);
    }

    /// Ends all cuts, and passes on the data that they held back.
    pub(crate) fn mend(&self) {
        self.conduct.send_modify(|conduct| {
            conduct.is_cut = false;
            conduct.silent = SilentListeners::None;
        });
    }

    /// Delays every answer.
    pub(crate) fn delay(&self, delay: Duration) {
        self.conduct.send_modify(|conduct| {
            conduct.delay = delay;
            conduct.spares_listeners = false;
        });
    }

    /// Delays every answer but those on connections that listen for changes.
    pub(crate) fn delay_lookups(&self, delay: Duration) {
        self.conduct.send_modify(|conduct| {
            conduct.delay = delay;
            conduct.spares_listeners = true;
        });
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Ended when this is dropped, with the task that accepts them.
#[derive(Default)]
struct Connections(Arc<Mutex<Vec<JoinHandle<io::Result<()>>>>>);

impl Connections {
    fn add(&self, connection: JoinHandle<io::Result<()>>) {
        let mut connections = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        connections.retain(|connection| !connection.is_finished());
        connections.push(connection);
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        let connections = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        connections.iter().for_each(JoinHandle::abort);
    }
}

async fn pass_on(client: TcpStream, mut conducts: watch::Receiver<Conduct>) -> io::Result<()> {
    let connection = Connection::begin();
    let to = until_mended(&mut conducts, &connection).await?.to;
    // The client closed the connection during the cut, so the database must not see it.
    let readable = client.ready(Interest::READABLE).now_or_never();
    if readable.is_some_and(|ready| ready.is_ok_and(|ready| ready.is_read_closed())) {
        return Ok(());
    }
    let database = TcpStream::connect(to).await?;
    client.set_nodelay(true)?;
    database.set_nodelay(true)?;
    let (from_client, to_client) = client.into_split();
    let (from_database, to_database) = database.into_split();
    let conduct = conducts.clone();
    let heard = |asked: &[u8]| {
        connection.asked(asked);
        Duration::ZERO
    };
    let delay = |_: &[u8]| conduct.borrow().delay_on(&connection);
    let (up, down) = tokio::join!(
        one_way(from_client, to_database, conducts, &connection, heard),
        one_way(from_database, to_client, conduct.clone(), &connection, delay),
    );
    up.and(down)
}

/// Reads at once and writes after the delay, so that much data can be on its way.
async fn one_way(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut conducts: watch::Receiver<Conduct>,
    connection: &Connection,
    delay: impl Fn(&[u8]) -> Duration,
) -> io::Result<()> {
    let (sent, mut arriving) = mpsc::unbounded_channel();
    let read = async move {
        let mut buffer = vec![0; 16 * 1024];
        loop {
            // A connection that broke ends like one that was closed.
            let length = from.read(&mut buffer).await.unwrap_or_default();
            if length == 0
                || sent
                    .send((
                        Instant::now() + delay(&buffer[..length]),
                        buffer[..length].to_vec(),
                    ))
                    .is_err()
            {
                return;
            }
        }
    };
    let write = async move {
        while let Some((when, data)) = arriving.recv().await {
            sleep_until(when).await;
            until_mended(&mut conducts, connection).await?;
            to.write_all(&data).await?;
        }
        until_mended(&mut conducts, connection).await?;
        to.shutdown().await
    };
    let ((), written) = tokio::join!(read, write);
    written
}

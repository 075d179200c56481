//! A client without credentials guesses the passwords of the holder, the owner and another user, each time
//! from another address.

use std::sync::Arc;

use tokio::runtime::Handle;

use super::{CONNECTIONS, RECONNECT};
use crate::target::Target;
use crate::wire::{Wire, another_address, request};

pub(super) fn begin(runtime: &Handle, target: &Arc<Target>) {
    for connection in 0..CONNECTIONS {
        let target = Arc::clone(target);
        runtime.spawn(async move {
            let mut number = connection;
            loop {
                number += CONNECTIONS;
                if let Err(error) = guess(&target, number).await {
                    target.tally.broke(error);
                    tokio::time::sleep(RECONNECT).await;
                }
            }
        });
    }
}

async fn guess(target: &Target, number: usize) -> std::io::Result<()> {
    let username = &target.usernames[number % target.usernames.len()];
    let form = format!("username={username}&password=quiet+badgers+draw+{number}");
    let headers = "Content-Type: application/x-www-form-urlencoded\r\nSec-Fetch-Site: same-origin\r\n";
    let mut wire = Wire::open(target.server, another_address()).await?;
    let answer = wire
        .ask(&request(target.server, "POST", "/sign-in", headers, &form))
        .await?;
    target.tally.answered(answer.status);
    Ok(())
}

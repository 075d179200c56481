//! A key revokes keys that do not exist, with their descendants.

use std::sync::Arc;

use tokio::runtime::Handle;

use super::{ask_for_ever, made_up_id};
use crate::target::Target;

pub(super) fn begin(runtime: &Handle, target: &Arc<Target>) {
    ask_for_ever(runtime, target, |target, number| {
        let path = format!("/api-keys/{}?descendants=revoke", made_up_id(number));
        target.api(&target.stolen.token, "DELETE", &path, "")
    });
}

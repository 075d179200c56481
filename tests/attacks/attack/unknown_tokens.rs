//! A client without credentials sends made-up tokens with valid shapes and checksums, so that only the
//! database can refuse them, half of them in requests to revoke keys: because of an unknown token, the server
//! must not wait for other servers, nor make them read the database.

use std::sync::Arc;

use tokio::runtime::Handle;

use super::{CONNECTIONS, ask_for_ever};
use crate::target::Target;

pub(super) fn begin(runtime: &Handle, target: &Arc<Target>) {
    // One that did not hold would be refused without the database.
    assert_eq!(made_up_token(0), format!("kwp_{}2wjyrI", "0".repeat(32)));
    ask_for_ever(runtime, target, |target, number| {
        // Each connection's numbers are as far apart as there are connections.
        let (method, path) = match number / CONNECTIONS % 2 {
            0 => ("GET", ""),
            _ => ("DELETE", "/api-keys/current"),
        };
        target.api(&made_up_token(number), method, path, "")
    });
}

fn made_up_token(number: usize) -> String {
    let body = format!("{number:032}");
    let checksum = base62(crc32fast::hash(body.as_bytes()));
    format!("kwp_{body}{checksum}")
}

/// Six digits in the order `0-9 A-Z a-z`, most significant first.
fn base62(mut number: u32) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut digits = [b'0'; 6];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[(number % 62) as usize];
        number /= 62;
    }
    String::from_utf8_lossy(&digits).into_owned()
}

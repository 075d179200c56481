//! Tokens that hold and tokens that do not.

use std::fmt::Write as _;

/// A token of the right shape, with the checksum that belongs to it.
pub(crate) fn well_formed(number: usize) -> String {
    let body = format!("{number:032}");
    let checksum = base62(crc32fast::hash(body.as_bytes()));
    format!("kwp_{body}{checksum}")
}

/// A token that is refused for its shape or, every other one, for its checksum.
pub(crate) fn malformed(number: usize) -> String {
    let mut token = well_formed(number);
    token.pop();
    if number.is_multiple_of(2) {
        let wrong = if token.ends_with('0') { '1' } else { '0' };
        let _ = token.pop();
        let _ = write!(token, "{wrong}{wrong}");
    }
    token
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

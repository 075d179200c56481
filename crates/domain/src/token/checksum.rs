//! The last six characters of a token: CRC-32/ISO-HDLC of its body, in base 62.

/// The digits of base 62, in the order of their values.
pub(super) const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Characters of a checksum: 62^6 is the first power of 62 above 2^32.
pub(super) const LENGTH: usize = 6;

/// The checksum of a token's 32 body characters, most significant digit first, padded with `0`.
pub(super) fn checksum(body: &[u8]) -> [u8; LENGTH] {
    let mut rest = crc32fast::hash(body) as usize;
    let mut digits = [ALPHABET[0]; LENGTH];
    for digit in digits.iter_mut().rev() {
        *digit = ALPHABET[rest % ALPHABET.len()];
        rest /= ALPHABET.len();
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::checksum;

    #[test]
    fn checksum_matches_the_published_vectors() {
        let vectors = [
            ("00000000000000000000000000000000", "2wjyrI"),
            ("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "3Ae0o2"),
            ("0123456789ABCDEFGHIJKLMNOPQRSTUV", "1ggZdL"),
            ("abcdefghijklmnopqrstuvwxyz012345", "1nc0VA"),
            ("9scbRYjvDIcALY0lSDlCE5THhyySDXuM", "00022i"),
        ];
        for (body, expected) in vectors {
            assert_eq!(
                checksum(body.as_bytes()),
                expected.as_bytes(),
                "checksum of {body}"
            );
        }
    }
}

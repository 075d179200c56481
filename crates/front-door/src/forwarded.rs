//! The addresses in `X-Forwarded-For` and `Forwarded` headers. Any byte of them may come from an attacker.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The hops of one `X-Forwarded-For` value from right to left, `None` for an invalid address.
pub(crate) fn x_forwarded_for(value: &[u8]) -> impl Iterator<Item = Option<SocketAddr>> {
    value.rsplit(|byte| *byte == b',').map(|hop| {
        let hop = str::from_utf8(hop).ok()?.trim_matches([' ', '\t']);
        // Unlike RFC 7239, X-Forwarded-For has IPv6 addresses without brackets.
        hop.parse::<Ipv6Addr>()
            .ok()
            .map(|address| canonical(address.into(), 0))
            .or_else(|| node(hop))
    })
}

/// The hops of one `Forwarded` value (RFC 7239 §4) from right to left, `None` for an invalid address.
pub(crate) fn forwarded(value: &[u8]) -> impl Iterator<Item = Option<SocketAddr>> {
    let elements = str::from_utf8(value)
        .ok()
        .and_then(|value| split_outside_quotes(value, ','));
    // An unclosed quote may hide elements: then nothing in this value counts.
    let elements = elements.map_or_else(|| vec![None], |elements| elements.into_iter().map(Some).collect());
    elements.into_iter().rev().map(|element| for_parameter(element?))
}

/// The address in the only `for=` of a forwarded-element.
fn for_parameter(element: &str) -> Option<SocketAddr> {
    let mut found = None;
    for pair in split_outside_quotes(element, ';')? {
        let (name, value) = pair.split_once('=')?;
        if name.trim_matches([' ', '\t']).eq_ignore_ascii_case("for") {
            let value = value.trim_matches([' ', '\t']);
            let unquoted = value
                .strip_prefix('"')
                .and_then(|value| value.strip_suffix('"'))
                .unwrap_or(value);
            if found.replace(node(unquoted)?).is_some() {
                return None;
            }
        }
    }
    found
}

/// An RFC 7239 §6 node that is an address: `192.0.2.1`, `192.0.2.1:80`, `[2001:db8::1]`, `[2001:db8::1]:80`.
fn node(text: &str) -> Option<SocketAddr> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Some(canonical(address.ip(), address.port()));
    }
    let address: IpAddr = match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        Some(bracketed) => bracketed.parse::<Ipv6Addr>().ok()?.into(),
        None => text.parse::<std::net::Ipv4Addr>().ok()?.into(),
    };
    Some(canonical(address, 0))
}

/// An IPv4 address has one form only, or a proxy would not be recognized and one client would count as two.
pub(crate) fn canonical(address: IpAddr, port: u16) -> SocketAddr {
    SocketAddr::new(address.to_canonical(), port)
}

/// Splits at `separator` where it is not inside a quoted-string (RFC 9110 §5.6.4), or `None` if a quote is
/// not closed.
fn split_outside_quotes(text: &str, separator: char) -> Option<Vec<&str>> {
    let (mut quoted, mut escaped) = (false, false);
    let parts = text
        .split(|character: char| {
            if escaped {
                escaped = false;
            } else if quoted && character == '\\' {
                escaped = true;
            } else if character == '"' {
                quoted = !quoted;
            }
            character == separator && !quoted
        })
        .collect();
    (!quoted).then_some(parts)
}

#[cfg(test)]
mod tests {
    use proptest::{
        prelude::*,
        test_runner::{Config, RngSeed},
    };

    use super::*;

    fn hops(parsed: impl Iterator<Item = Option<SocketAddr>>) -> Vec<String> {
        parsed
            .map(|hop| hop.map_or_else(|| "garbage".to_owned(), |hop| hop.to_string()))
            .collect()
    }

    #[test]
    fn x_forwarded_for_is_read_from_the_right() {
        assert_eq!(
            hops(x_forwarded_for(b"192.0.2.1, 198.51.100.2")),
            ["198.51.100.2:0", "192.0.2.1:0"]
        );
    }

    #[test]
    fn x_forwarded_for_accepts_every_address_notation() {
        for (text, address) in [
            ("192.0.2.1", "192.0.2.1:0"),
            ("192.0.2.1:8080", "192.0.2.1:8080"),
            ("2001:db8::1", "[2001:db8::1]:0"),
            ("[2001:db8::1]", "[2001:db8::1]:0"),
            ("[2001:db8::1]:8080", "[2001:db8::1]:8080"),
            ("::ffff:192.0.2.1", "192.0.2.1:0"),
            ("\t192.0.2.1 ", "192.0.2.1:0"),
        ] {
            assert_eq!(hops(x_forwarded_for(text.as_bytes())), [address], "{text}");
        }
    }

    #[test]
    fn invalid_x_forwarded_for_element_yields_no_address() {
        for text in [
            "",
            " ",
            "unknown",
            "192.0.2",
            "192.0.2.1.5",
            "192.0.2.1:99999",
            "[192.0.2.1]",
            "[::1",
            "1",
            "::1%eth0",
        ] {
            assert_eq!(hops(x_forwarded_for(text.as_bytes())), ["garbage"], "{text}");
        }
        assert_eq!(
            hops(x_forwarded_for(b"192.0.2.1,\xff\xfe")),
            ["garbage", "192.0.2.1:0"]
        );
    }

    #[test]
    fn forwarded_is_read_from_the_right() {
        assert_eq!(
            hops(forwarded(
                b"for=192.0.2.1;proto=https;by=10.0.0.1, For=\"[2001:db8::1]:47\";host=\"a,b;c\""
            )),
            ["[2001:db8::1]:47", "192.0.2.1:0"]
        );
    }

    #[test]
    fn invalid_forwarded_element_yields_no_address() {
        for text in [
            "",
            "for",
            "for=",
            "for=unknown",
            "for=_hidden",
            "for=2001:db8::1",
            "by=192.0.2.1",
            "for=192.0.2.1;for=192.0.2.2",
            "for=\"192.0.2.1",
        ] {
            assert_eq!(hops(forwarded(text.as_bytes())), ["garbage"], "{text}");
        }
    }

    #[test]
    fn unclosed_quote_from_client_does_not_hide_a_proxys_element() {
        assert_eq!(
            hops(forwarded(b"for=203.0.113.9, for=\", for=192.0.2.1")),
            ["garbage"]
        );
        assert_eq!(
            hops(forwarded(b"for=203.0.113.9;x=\", for=\"[2001:db8::1]\"")),
            ["garbage"]
        );
        assert_eq!(
            hops(forwarded(b"for=203.0.113.9;x=\"\\, for=\"[2001:db8::1]\"")),
            ["garbage"]
        );
    }

    proptest! {
        #![proptest_config(Config { rng_seed: RngSeed::Fixed(7239), failure_persistence: None, ..Config::default() })]

        #[test]
        fn client_headers_do_not_alter_a_proxys_forwarded_for_element(sent: Vec<u8>) {
            let value = [&sent[..], b", 192.0.2.1"].concat();
            let hop = hops(x_forwarded_for(&value)).swap_remove(0);
            prop_assert_eq!(hop, "192.0.2.1:0");
        }

        #[test]
        fn client_can_at_most_invalidate_a_proxys_forwarded_element(
            sent in r#"([ ,;="\\]|for=|for=6\.6\.6\.6|"\[::6\]"|x){0,12}"#,
            appended in prop_oneof![Just("for=192.0.2.1"), Just("for=\"192.0.2.1:0\";by=\"[2001:db8::2]\"")],
        ) {
            let value = format!("{sent}, {appended}");
            let hop = hops(forwarded(value.as_bytes())).swap_remove(0);
            prop_assert!(hop == "192.0.2.1:0" || hop == "garbage", "{hop} from {value}");
        }

        #[test]
        fn forwarding_parsers_never_panic_on_any_bytes(value: Vec<u8>) {
            prop_assert!(!hops(forwarded(&value)).is_empty());
            prop_assert!(!hops(x_forwarded_for(&value)).is_empty());
        }
    }
}

//! JSON that means one thing only.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// JSON must not begin with it (RFC 8259 §8.1). Some editors and shells write it without showing it.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Reads one JSON value and nothing after it.
///
/// # Errors
/// The bytes are only white space, not UTF-8 or not JSON, an object repeats a member, a string has half of a
/// surrogate pair, or values are nested deeper than serde_json reads (127 levels).
pub(crate) fn parse(bytes: &[u8]) -> serde_json::Result<Value> {
    if bytes.starts_with(BYTE_ORDER_MARK) {
        return Err(Error::custom(
            "it begins with a byte order mark (U+FEFF); send it without one",
        ));
    }
    if bytes.trim_ascii().is_empty() {
        return Err(Error::custom("it is empty"));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = StrictValue.deserialize(&mut deserializer).map_err(explained)?;
    deserializer.end()?;
    Ok(value)
}

/// serde_json takes half of a surrogate pair for the end of the text, or names the wrong half.
fn explained(error: serde_json::Error) -> serde_json::Error {
    const OF_HALF_A_PAIR: [&str; 2] = [
        "unexpected end of hex escape",
        "lone leading surrogate in hex escape",
    ];
    let message = error.to_string();
    if OF_HALF_A_PAIR.iter().any(|reason| message.starts_with(reason)) {
        Error::custom(format!(
            "an escape (\\u) is half of a surrogate pair and lacks the other half at line {} column {}",
            error.line(),
            error.column()
        ))
    } else {
        error
    }
}

#[derive(Clone, Copy)]
struct StrictValue;

impl<'de> DeserializeSeed<'de> for StrictValue {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = array.next_element_seed(self)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = object.next_key::<String>()? {
            let value = object.next_value_seed(self)?;
            if members.insert(name, value).is_some() {
                return Err(A::Error::custom("an object repeats a member"));
            }
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngSeed};
    use serde_json::{Value, json};

    use super::parse;

    #[test]
    fn ordinary_json_is_parsed_unchanged() {
        let text = r#"{"b": [1, -2, 0.5, true, null], "a": {"x": "\ud83d\ude00"}}"#;
        assert_eq!(
            parse(text.as_bytes()).unwrap(),
            json!({"b": [1, -2, 0.5, true, null], "a": {"x": "😀"}})
        );
    }

    #[test]
    fn ambiguous_json_is_rejected() {
        for text in [
            "",
            " ",
            "{} {}",
            "{}x",
            r#"{"a": 1, "a": 1}"#,
            r#"{"a": 1, "\u0061": 1}"#,
            r#"[{"a": {"b": 1, "b": 2}}]"#,
            r#"{"a": "\ud83d"}"#,
            r#"{"a": "\ude00"}"#,
            "{\"a\": \"\n\"}",
            "{'a': 1}",
            r#"{"a": 1,}"#,
            "NaN",
            "1e999",
            "\u{feff}{}",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(parse(b"\"\xff\"").is_err());
        assert!(parse(b"\"\xed\xa0\x80\"").is_err());
    }

    #[test]
    fn half_of_a_surrogate_pair_is_named() {
        for text in [
            r#""\ud83d""#,
            r#""\ud83d!""#,
            r#""\ud83d\n""#,
            r#""\ud83d\u0041""#,
            r#""\ude00""#,
        ] {
            let message = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(
                message.starts_with(
                    "an escape (\\u) is half of a surrogate pair and lacks the other half at line 1"
                ),
                "{text}: {message}"
            );
        }
    }

    #[test]
    fn deep_nesting_is_refused_before_it_fills_the_stack() {
        let nested = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse(nested(127).as_bytes()).is_ok());
        for levels in [128, 30_000] {
            assert!(parse(nested(levels).as_bytes()).is_err(), "{levels}");
        }
        assert!(parse(format!("{}1{}", r#"{"a":"#.repeat(128), "}".repeat(128)).as_bytes()).is_err());
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..4).prop_map(Value::from),
                btree_map(any::<String>(), inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(Config { rng_seed: RngSeed::Fixed(8259), failure_persistence: None, ..Config::default() })]

        #[test]
        fn strict_parser_agrees_with_serde_json(
            text in r#"([\[\]{},:" 0-9.eE+-]|true|null|"a"|"b":|\\u00e9|\[\]|é){0,10}"#,
        ) {
            if let Ok(value) = parse(text.as_bytes()) {
                prop_assert_eq!(value, serde_json::from_str::<Value>(&text).unwrap());
            }
        }

        #[test]
        fn any_json_is_read_and_refused_with_a_repeated_member(value in any_json(), cut in any::<prop::sample::Index>()) {
            let text = value.to_string();
            prop_assert_eq!(&parse(text.as_bytes()).unwrap(), &value);
            let twice = format!(r#"{{"a": {text}, "a": {text}}}"#);
            prop_assert!(parse(twice.as_bytes()).is_err());
            let end = cut.index(text.len());
            let begun = &text.as_bytes()[..end];
            // A shorter number is one, too.
            prop_assert!(parse(begun).is_err() || value.is_number());
        }
    }
}

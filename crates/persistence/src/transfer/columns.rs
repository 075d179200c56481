//! The column types of an export: identical for both databases, with one textual form each.
//!
//! Values are never altered: one that a database or the export cannot represent exactly is an error.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use chrono::{DateTime, SecondsFormat, Utc};
use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::serialize::{self, IsNull, Output, ToSql};
use diesel::sql_types::{BigInt, Binary, Text, Timestamptz};
use diesel::sqlite::Sqlite;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::columns::{StoredId, as_in_postgres, moment};

/// A timestamp. In the export: RFC 3339 in UTC, with no unnecessary digits.
#[derive(Debug, Clone, Copy, AsExpression, FromSqlRow)]
#[diesel(sql_type = Timestamptz)]
#[diesel(sql_type = BigInt)]
pub(crate) struct Moment(pub(super) DateTime<Utc>);

/// Bytes, such as a digest. In the export: two hexadecimal digits for each, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, AsExpression, FromSqlRow)]
#[diesel(sql_type = Binary)]
pub(crate) struct Bytes(pub(super) Vec<u8>);

/// A text. Invalid UTF-8 in a SQLite file is an error here, while diesel would replace it.
#[derive(Debug, Clone, Serialize, Deserialize, AsExpression, FromSqlRow)]
#[diesel(sql_type = Text)]
#[serde(transparent)]
pub(crate) struct TextValue(pub(super) String);

impl TextValue {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

#[derive(Debug, thiserror::Error)]
enum Inexact {
    #[error("a text that is not UTF-8")]
    NotUtf8,
    #[error("the moment {0} has parts of a millisecond, which SQLite's tables do not keep")]
    PartsOfAMillisecond(Moment),
}

// Serialization. Text that is not in the canonical form is refused.

fn read<'de, D: Deserializer<'de>, T: FromStr + Display>(deserializer: D) -> Result<T, D::Error> {
    let text = String::deserialize(deserializer)?;
    match text.parse::<T>() {
        Ok(value) if value.to_string() == text => Ok(value),
        // The text is not repeated: it may be a secret.
        Ok(_) | Err(_) => Err(de::Error::custom("not written as in an export")),
    }
}

macro_rules! as_text {
    ($($Type:ty),*) => { $(
        impl Serialize for $Type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $Type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                read(deserializer)
            }
        }
    )* };
}

as_text!(StoredId, Moment, Bytes);

/// An identifier: hyphenated, in lower case.
impl Display for StoredId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl FromStr for StoredId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

impl Display for Moment {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_rfc3339_opts(SecondsFormat::AutoSi, true))
    }
}

impl FromStr for Moment {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let moment: DateTime<Utc> = text.parse().map_err(|_| "no moment")?;
        // PostgreSQL stores microseconds and would truncate the rest.
        if moment.timestamp_subsec_nanos().is_multiple_of(1_000) {
            Ok(Self(moment))
        } else {
            Err("parts of a microsecond")
        }
    }
}

impl Display for Bytes {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

impl FromStr for Bytes {
    type Err = hex::FromHexError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        hex::decode(text).map(Self)
    }
}

as_in_postgres!(
    Moment: Timestamptz as DateTime<Utc>,
    Bytes: Binary as Vec<u8>,
    TextValue: Text as String
);

// SQLite has only bytes, texts and numbers.

type SqliteValue<'a> = <Sqlite as Backend>::RawValue<'a>;

impl ToSql<BigInt, Sqlite> for Moment {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        if !self.0.timestamp_subsec_nanos().is_multiple_of(1_000_000) {
            return Err(Inexact::PartsOfAMillisecond(*self).into());
        }
        out.set_value(self.0.timestamp_millis());
        Ok(IsNull::No)
    }
}

impl FromSql<BigInt, Sqlite> for Moment {
    fn from_sql(value: SqliteValue<'_>) -> deserialize::Result<Self> {
        let milliseconds = <i64 as FromSql<BigInt, Sqlite>>::from_sql(value)?;
        Ok(Self(moment(milliseconds)?))
    }
}

impl ToSql<Binary, Sqlite> for Bytes {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(self.0.as_slice());
        Ok(IsNull::No)
    }
}

impl FromSql<Binary, Sqlite> for Bytes {
    fn from_sql(value: SqliteValue<'_>) -> deserialize::Result<Self> {
        <Vec<u8> as FromSql<Binary, Sqlite>>::from_sql(value).map(Self)
    }
}

impl ToSql<Text, Sqlite> for TextValue {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(self.0.as_str());
        Ok(IsNull::No)
    }
}

impl FromSql<Text, Sqlite> for TextValue {
    fn from_sql(value: SqliteValue<'_>) -> deserialize::Result<Self> {
        let bytes = <Vec<u8> as FromSql<Binary, Sqlite>>::from_sql(value)?;
        Ok(Self(String::from_utf8(bytes).map_err(|_| Inexact::NotUtf8)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_as<T: for<'de> Deserialize<'de> + Serialize>(json: &str) -> Option<String> {
        let value: T = serde_json::from_str(json).ok()?;
        serde_json::to_string(&value).ok()
    }

    #[test]
    fn exported_values_round_trip() {
        let id = "\"01234567-89ab-7cde-8f01-23456789abcd\"";
        assert_eq!(read_as::<StoredId>(id).as_deref(), Some(id));
        for moment in [
            "\"2026-01-01T00:00:00Z\"",
            "\"2026-01-01T00:00:00.120Z\"",
            "\"2026-01-01T00:00:00.123456Z\"",
            "\"1969-12-31T23:59:59.999Z\"",
        ] {
            assert_eq!(read_as::<Moment>(moment).as_deref(), Some(moment));
        }
        for bytes in ["\"\"", "\"00ff10\""] {
            assert_eq!(read_as::<Bytes>(bytes).as_deref(), Some(bytes));
        }
        let words = "\"\\u0000 \\n \u{202e}ﷺ 👩‍💻 \\\"\"";
        assert_eq!(read_as::<TextValue>(words).as_deref(), Some(words));
    }

    #[test]
    fn alternative_value_encodings_are_rejected() {
        for id in ["\"0123456789ab7cde8f0123456789abcd\"", "\"\"", "1", "null"] {
            assert_eq!(read_as::<StoredId>(id), None, "{id}");
        }
        for moment in [
            "\"2026-01-01T00:00:00.12Z\"",
            "\"2026-01-01T00:00:00.000Z\"",
            "\"2026-01-01T01:00:00+01:00\"",
            "\"2026-01-01T00:00:00.123456789Z\"",
            "\"yesterday\"",
            "0",
        ] {
            assert_eq!(read_as::<Moment>(moment), None, "{moment}");
        }
        for bytes in ["\"0\"", "\"0F\"", "\"+f\"", "\"0é\"", "[0]"] {
            assert_eq!(read_as::<Bytes>(bytes), None, "{bytes}");
        }
    }
}

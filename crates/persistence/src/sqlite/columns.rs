//! Identifiers and moments as SQLite keeps them, which has no types for either.

use chrono::{DateTime, Utc};
use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::serialize::{self, IsNull, Output, ToSql};
use diesel::sql_types::Binary;
use diesel::sqlite::Sqlite;
use uuid::Uuid;

/// An identifier as its 16 bytes.
#[derive(Debug, Clone, Copy, AsExpression, FromSqlRow)]
#[diesel(sql_type = Binary)]
pub(crate) struct StoredId(pub(crate) Uuid);

impl ToSql<Binary, Sqlite> for StoredId {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(self.0.as_bytes().as_slice());
        Ok(IsNull::No)
    }
}

impl FromSql<Binary, Sqlite> for StoredId {
    fn from_sql(value: <Sqlite as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
        let bytes: Vec<u8> = FromSql::<Binary, Sqlite>::from_sql(value)?;
        Ok(Self(Uuid::from_slice(&bytes)?))
    }
}

/// A number that is no moment in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no moment in milliseconds since 1970")]
pub(crate) struct NotAMoment;

/// The moment that was stored as milliseconds since 1970.
pub(crate) fn moment(milliseconds: i64) -> Result<DateTime<Utc>, NotAMoment> {
    DateTime::from_timestamp_millis(milliseconds).ok_or(NotAMoment)
}

#[cfg(test)]
mod tests {
    use super::{NotAMoment, moment};

    #[test]
    fn a_moment_reads_back_and_an_absurd_number_is_none() {
        let now = "2026-01-01T00:00:00.123Z".parse().unwrap();
        assert_eq!(moment(1_767_225_600_123), Ok(now));
        assert_eq!(now.timestamp_millis(), 1_767_225_600_123);
        for absurd in [i64::MIN, i64::MAX] {
            assert_eq!(moment(absurd), Err(NotAMoment));
        }
    }
}

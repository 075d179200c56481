//! Identifiers, moments and flags as the databases keep them: PostgreSQL in types of their own; SQLite, which
//! has none for any of them, as 16 bytes, milliseconds since 1970, and 0 or 1.

use chrono::{DateTime, Utc};
use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::pg::Pg;
use diesel::serialize::{self, IsNull, Output, ToSql};
use diesel::sql_types::{BigInt, Binary, Bool, Integer, Timestamptz, Uuid as SqlUuid};
use diesel::sqlite::Sqlite;
use keyward_domain::validity::End;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

type PostgresValue<'a> = <Pg as Backend>::RawValue<'a>;
type SqliteValue<'a> = <Sqlite as Backend>::RawValue<'a>;

/// A type around one that PostgreSQL has a type for.
macro_rules! as_in_postgres {
    ($($Type:ty: $Column:ty as $Inner:ty),*) => { $(
        impl diesel::serialize::ToSql<$Column, diesel::pg::Pg> for $Type {
            fn to_sql<'b>(
                &'b self,
                out: &mut diesel::serialize::Output<'b, '_, diesel::pg::Pg>,
            ) -> diesel::serialize::Result {
                diesel::serialize::ToSql::<$Column, diesel::pg::Pg>::to_sql(&self.0, out)
            }
        }

        impl diesel::deserialize::FromSql<$Column, diesel::pg::Pg> for $Type {
            fn from_sql(
                value: <diesel::pg::Pg as diesel::backend::Backend>::RawValue<'_>,
            ) -> diesel::deserialize::Result<Self> {
                <$Inner as diesel::deserialize::FromSql<$Column, diesel::pg::Pg>>::from_sql(value).map(Self)
            }
        }
    )* };
}
pub(crate) use as_in_postgres;

as_in_postgres!(StoredId: SqlUuid as Uuid, StoredFlag: Bool as bool, StoredNumber: Integer as i32);

/// An identifier: `uuid` in PostgreSQL, 16 bytes in SQLite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, AsExpression, FromSqlRow)]
#[diesel(sql_type = SqlUuid)]
#[diesel(sql_type = Binary)]
pub(crate) struct StoredId(pub(crate) Uuid);

impl ToSql<Binary, Sqlite> for StoredId {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(self.0.as_bytes().as_slice());
        Ok(IsNull::No)
    }
}

impl FromSql<Binary, Sqlite> for StoredId {
    fn from_sql(value: SqliteValue<'_>) -> deserialize::Result<Self> {
        let bytes: Vec<u8> = FromSql::<Binary, Sqlite>::from_sql(value)?;
        Ok(Self(Uuid::from_slice(&bytes)?))
    }
}

/// A timestamp, or an error if the stored value is none; the code that reads the row adds table and column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, AsExpression, FromSqlRow)]
#[diesel(sql_type = Timestamptz)]
#[diesel(sql_type = BigInt)]
pub(crate) struct StoredMoment(pub(crate) Result<DateTime<Utc>, NotAMoment>);

/// The stored value is not a timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("not a timestamp in the supported range")]
pub(crate) struct NotAMoment;

impl StoredMoment {
    /// A planned end, for the event when it has come; `None` if the stored value is no timestamp.
    pub(crate) fn as_planned_end(self) -> Option<End> {
        self.0.ok().map(End::Planned)
    }
}

impl From<DateTime<Utc>> for StoredMoment {
    fn from(moment: DateTime<Utc>) -> Self {
        Self(Ok(moment))
    }
}

impl ToSql<Timestamptz, Pg> for StoredMoment {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        match &self.0 {
            Ok(moment) => ToSql::<Timestamptz, Pg>::to_sql(moment, out),
            Err(error) => Err((*error).into()),
        }
    }
}

impl FromSql<Timestamptz, Pg> for StoredMoment {
    fn from_sql(value: PostgresValue<'_>) -> deserialize::Result<Self> {
        // PostgreSQL stores infinite timestamps, and years that chrono cannot represent.
        let moment = <DateTime<Utc> as FromSql<Timestamptz, Pg>>::from_sql(value);
        Ok(Self(moment.map_err(|_| NotAMoment)))
    }
}

impl ToSql<BigInt, Sqlite> for StoredMoment {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(self.0?.timestamp_millis());
        Ok(IsNull::No)
    }
}

impl FromSql<BigInt, Sqlite> for StoredMoment {
    fn from_sql(value: SqliteValue<'_>) -> deserialize::Result<Self> {
        let milliseconds = <i64 as FromSql<BigInt, Sqlite>>::from_sql(value)?;
        Ok(Self(moment(milliseconds)))
    }
}

/// Converts milliseconds since 1970.
pub(crate) fn moment(milliseconds: i64) -> Result<DateTime<Utc>, NotAMoment> {
    DateTime::from_timestamp_millis(milliseconds).ok_or(NotAMoment)
}

/// A boolean: `boolean` in PostgreSQL, 0 or 1 in SQLite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, AsExpression, FromSqlRow)]
#[diesel(sql_type = Bool)]
#[diesel(sql_type = BigInt)]
#[serde(transparent)]
pub(crate) struct StoredFlag(pub(crate) bool);

impl ToSql<BigInt, Sqlite> for StoredFlag {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(i64::from(self.0));
        Ok(IsNull::No)
    }
}

impl FromSql<BigInt, Sqlite> for StoredFlag {
    fn from_sql(value: SqliteValue<'_>) -> deserialize::Result<Self> {
        match <i64 as FromSql<BigInt, Sqlite>>::from_sql(value)? {
            0 => Ok(Self(false)),
            1 => Ok(Self(true)),
            _ => Err("a number that is neither 0 nor 1".into()),
        }
    }
}

/// A small number: `integer` in PostgreSQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, AsExpression, FromSqlRow)]
#[diesel(sql_type = Integer)]
#[diesel(sql_type = BigInt)]
#[serde(transparent)]
pub(crate) struct StoredNumber(pub(crate) i32);

impl ToSql<BigInt, Sqlite> for StoredNumber {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(i64::from(self.0));
        Ok(IsNull::No)
    }
}

impl FromSql<BigInt, Sqlite> for StoredNumber {
    fn from_sql(value: SqliteValue<'_>) -> deserialize::Result<Self> {
        let number = <i64 as FromSql<BigInt, Sqlite>>::from_sql(value)?;
        Ok(Self(number.try_into()?))
    }
}

#[cfg(test)]
mod tests {
    use super::{NotAMoment, moment};

    #[test]
    fn time_column_round_trips_and_rejects_out_of_range_numbers() {
        let now = "2026-01-01T00:00:00.123Z".parse().unwrap();
        assert_eq!(moment(1_767_225_600_123), Ok(now));
        assert_eq!(now.timestamp_millis(), 1_767_225_600_123);
        for absurd in [i64::MIN, i64::MAX] {
            assert_eq!(moment(absurd), Err(NotAMoment));
        }
    }
}

//! Looking at the clock, with what the database knows of how late it is.

use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::dsl::sql;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel::sql_types::Timestamptz;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::ports::StorageError;
use keyward_domain::retention::{ClockDoubt, ClockWitnesses};

use super::{Turn, take_in_turn};
use crate::abort::Abort;
use crate::postgres::schema::retention_clock;

pub(in crate::postgres) async fn look(
    connection: &mut AsyncPgConnection,
    now: DateTime<Utc>,
    is_confirmed: bool,
) -> Result<Option<ClockDoubt>, Abort<StorageError>> {
    take_in_turn(connection, Turn::Clock).await?;
    let database: DateTime<Utc> = diesel::select(sql::<Timestamptz>("clock_timestamp()"))
        .get_result(connection)
        .await?;
    let believed_at: Option<DateTime<Utc>> = retention_clock::table
        .select(retention_clock::believed_at)
        .get_result(connection)
        .await
        .optional()?;
    let witnesses = ClockWitnesses {
        database: Some(database),
        // Without the row no clock is believed, until somebody says that it is right.
        believed_at: believed_at.unwrap_or_default(),
    };
    if let Err(doubt) = witnesses.look(now, is_confirmed) {
        return Ok(Some(doubt));
    }
    diesel::insert_into(retention_clock::table)
        .values((
            retention_clock::only_row.eq(true),
            retention_clock::believed_at.eq(now),
        ))
        .on_conflict(retention_clock::only_row)
        .do_update()
        .set(retention_clock::believed_at.eq(now))
        .execute(connection)
        .await?;
    Ok(None)
}

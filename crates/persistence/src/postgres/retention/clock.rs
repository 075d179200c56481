//! Looking at the clock, with what the database knows of how late it is.

use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::dsl::sql;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel::sql_types::Timestamptz;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::ports::StorageError;
use keyward_domain::retention::{ClockDoubt, ClockRecord, ClockWitnesses};

use super::{Turn, take_in_turn};
use crate::abort::Abort;
use crate::postgres::schema::{audit_events, retention_clock};

pub(super) async fn look(
    connection: &mut AsyncPgConnection,
    now: DateTime<Utc>,
) -> Result<Option<ClockDoubt>, Abort<StorageError>> {
    take_in_turn(connection, Turn::Clock).await?;
    let database: DateTime<Utc> = diesel::select(sql::<Timestamptz>("clock_timestamp()"))
        .get_result(connection)
        .await?;
    let record: Option<(DateTime<Utc>, Option<DateTime<Utc>>)> = retention_clock::table
        .select((retention_clock::believed_at, retention_clock::leapt_to))
        .get_result(connection)
        .await
        .optional()?;
    let newest_event: Option<DateTime<Utc>> = audit_events::table
        .order(audit_events::id.desc())
        .select(audit_events::occurred_at)
        .first(connection)
        .await
        .optional()?;
    let look = ClockWitnesses {
        database: Some(database),
        record: record.map(|(believed_at, leapt_to)| ClockRecord {
            believed_at,
            leapt_to,
        }),
        newest_event,
    }
    .look(now);
    if let Some(record) = look.record {
        let columns = || {
            (
                retention_clock::believed_at.eq(record.believed_at),
                retention_clock::leapt_to.eq(record.leapt_to),
            )
        };
        diesel::insert_into(retention_clock::table)
            .values((retention_clock::only_row.eq(true), columns()))
            .on_conflict(retention_clock::only_row)
            .do_update()
            .set(columns())
            .execute(connection)
            .await?;
    }
    Ok(look.doubt)
}

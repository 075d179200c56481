//! The numbers of changes of access, given as the last act of the transaction that makes them.

use diesel::QueryResult;
use diesel::prelude::{ExpressionMethods, QueryDsl, RunQueryDsl, SqliteConnection};
use keyward_domain::access_changes::{Concern, LOGGED_CHANGES};

use super::schema::{access_changes, access_counter};
use super::store::SqliteStore;
use crate::columns::StoredId;
use crate::concern;

impl SqliteStore {
    /// Changes of other processes are not reported.
    pub(super) async fn hint_of_change(&self) {
        std::future::pending::<()>().await;
    }
}

/// Raises the counter by one for each of them.
pub(super) fn number(connection: &mut SqliteConnection, concerns: &[Concern]) -> QueryResult<()> {
    if concerns.is_empty() {
        return Ok(());
    }
    let counter = access_counter::table.filter(access_counter::only_row.eq(1));
    let before: i64 = counter.select(access_counter::number).get_result(connection)?;
    let mut newest = before;
    for concerned in concerns {
        newest += 1;
        let (kind, id) = concern::to_columns(*concerned);
        diesel::insert_into(access_changes::table)
            .values((
                access_changes::number.eq(newest),
                access_changes::concerns_kind.eq(kind),
                access_changes::concerns_id.eq(id.map(StoredId)),
            ))
            .execute(connection)?;
    }
    diesel::update(counter)
        .set(access_counter::number.eq(newest))
        .execute(connection)?;
    let forgotten = newest.saturating_sub_unsigned(LOGGED_CHANGES.get());
    diesel::delete(access_changes::table.filter(access_changes::number.le(forgotten))).execute(connection)?;
    Ok(())
}

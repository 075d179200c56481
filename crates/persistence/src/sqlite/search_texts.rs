//! Filling in what the version before did not write: the text that searches for a user read.

use diesel::prelude::{ExpressionMethods, QueryDsl, RunQueryDsl, SelectableHelper, SqliteConnection};
use diesel::result::Error as QueryError;
use keyward_domain::user::User;
use uuid::Uuid;

use super::people::UserRow;
use super::schema::users;
use crate::columns::StoredId;

/// How many users are filled in by one transaction, so that nobody waits long for the write lock.
const AT_ONCE: i64 = 100;

/// Fills in the search text of all users who lack it. Any number of processes may do so at once, and one that breaks
/// off leaves the rest for the next. A user who cannot be read is passed over: whoever asks for them is told.
pub(super) fn fill_in_search_texts(connection: &mut SqliteConnection) -> Result<(), QueryError> {
    let mut after = Uuid::nil();
    loop {
        let rows = without_search_text(connection, after)?;
        let Some(last) = rows.last() else {
            return Ok(());
        };
        after = last.id();
        connection.immediate_transaction(|connection| fill_in(connection, rows))?;
    }
}

/// The next users who lack it, by rising identifier.
fn without_search_text(connection: &mut SqliteConnection, after: Uuid) -> Result<Vec<UserRow>, QueryError> {
    users::table
        .filter(users::search_text.is_null())
        .filter(users::id.gt(StoredId(after)))
        .order(users::id)
        .limit(AT_ONCE)
        .select(UserRow::as_select())
        .load(connection)
}

fn fill_in(connection: &mut SqliteConnection, rows: Vec<UserRow>) -> Result<(), QueryError> {
    for user in rows.into_iter().filter_map(|row| User::try_from(row).ok()) {
        diesel::update(
            users::table
                .filter(users::id.eq(StoredId(user.id.as_uuid())))
                .filter(users::search_text.is_null()),
        )
        .set(users::search_text.eq(user.search_text()))
        .execute(connection)?;
    }
    Ok(())
}

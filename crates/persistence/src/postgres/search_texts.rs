//! Filling in what the version before did not write: the text that searches for a user read.

use std::convert::Infallible;

use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::ports::StorageError;
use keyward_domain::user::User;
use uuid::Uuid;

use super::people::UserRow;
use super::schema::users;
use super::store::PostgresStore;
use crate::abort::Abort;

/// How many users are filled in by one transaction, so that none is locked for long.
const AT_ONCE: i64 = 100;

impl PostgresStore {
    /// Fills in the search text of all users who lack it. Any number of processes may do so at once, and one that breaks
    /// off leaves the rest for the next. A user who cannot be read is passed over: whoever asks for them is told.
    pub(super) async fn fill_in_search_texts(&self) -> Result<(), StorageError> {
        let mut after = Uuid::nil();
        loop {
            let users = self
                .read(move |connection| Box::pin(without_search_text(connection, after)))
                .await?;
            let Some(last) = users.last() else {
                return Ok(());
            };
            after = last.id();
            self.change(move |connection| Box::pin(fill_in(connection, users)))
                .await?;
        }
    }
}

/// The next users who lack it, by rising identifier: every process that fills in locks them in the same order.
async fn without_search_text(
    connection: &mut AsyncPgConnection,
    after: Uuid,
) -> Result<Vec<UserRow>, Abort<Infallible>> {
    Ok(users::table
        .filter(users::search_text.is_null())
        .filter(users::id.gt(after))
        .order(users::id)
        .limit(AT_ONCE)
        .select(UserRow::as_select())
        .load(connection)
        .await?)
}

async fn fill_in(connection: &mut AsyncPgConnection, rows: Vec<UserRow>) -> Result<(), Abort<StorageError>> {
    for user in rows.into_iter().filter_map(|row| User::try_from(row).ok()) {
        diesel::update(
            users::table
                .filter(users::id.eq(user.id.as_uuid()))
                .filter(users::search_text.is_null()),
        )
        .set(users::search_text.eq(user.search_text()))
        .execute(connection)
        .await?;
    }
    Ok(())
}

//! Finding credentials in PostgreSQL, several at once if several are asked for.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

use async_trait::async_trait;
use diesel::expression::{ValidGrouping, is_aggregate};
use diesel::pg::Pg;
use diesel::prelude::{AppearsOnTable, Expression, QueryDsl, QueryResult};
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{Binary, Bool};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::access::Credential;
use keyward_domain::ports::{Credentials, StorageError};
use keyward_domain::token::TokenDigest;
use tokio::time::{Instant, timeout_at};

use super::lookup_queue::{Answer, Lookup, MAX_TOGETHER, Turn};
use super::schema::api_keys;
use super::sql::credentials::{CredentialRow, columns, credentials, find as find_one};
use super::store::{PostgresStore, SYSTEM};
use crate::abort::{Abort, TooSlow};
use crate::client::on_behalf_of_everybody;
use crate::shared_error::SharedError;
use crate::task::{self, Panicked};
use crate::traces::{self, Operation};

/// The lengths of the lists of digests. A statement is prepared once for each.
const LIST_LENGTHS: [usize; 2] = [8, MAX_TOGETHER];

#[async_trait]
impl Credentials for PostgresStore {
    /// A lookup that gets a turn asks at once, on the caller's task. It has a share of the connections that
    /// does not depend on whose turn it is.
    async fn find(&self, digest: &TokenDigest) -> Answer {
        let deadline = Instant::now() + self.timeouts.answer;
        let (answered, turn) = self.lookups.add(*digest);
        let span = match turn {
            Some(turn) => {
                let asking = ask_and_continue(self.clone(), turn);
                let asked = task::finish(on_behalf_of_everybody(asking)).await;
                asked.map_err(|panicked| StorageError::Defect(panicked.into()))?;
                None
            }
            None => Some(traces::span::<fn()>(SYSTEM, Operation::Read)),
        };
        let answer = match timeout_at(deadline, answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(StorageError::Defect(Panicked.into())),
            Err(_) => Err(StorageError::Unavailable(TooSlow::Answer.into())),
        };
        if let Some(span) = span {
            traces::end(&span, &answer);
        }
        answer
    }
}

/// Asks once. Further lookups that wait are asked for by a task of their own, so that the caller does not wait
/// for them.
async fn ask_and_continue(store: PostgresStore, turn: Turn) {
    ask(&store, &turn).await;
    if let Some(turn) = turn.again() {
        // Outside of the caller's trace.
        tokio::spawn(on_behalf_of_everybody(ask_while_lookups_wait(store, turn)));
    }
}

async fn ask_while_lookups_wait(store: PostgresStore, turn: Turn) {
    let mut next = Some(turn);
    while let Some(turn) = next {
        ask(&store, &turn).await;
        next = turn.again();
    }
}

/// Answers the lookups of one statement. All have its error, if it fails.
async fn ask(store: &PostgresStore, turn: &Turn) {
    let mut lookups = turn.take();
    if lookups.len() == 1 {
        for lookup in lookups {
            let answer = find(store, lookup.digest).await;
            lookup.answer(answer);
        }
        return;
    }
    let digests: Vec<TokenDigest> = lookups.iter().map(|lookup| lookup.digest).collect();
    let found = find_all(store, digests.into()).await.map_err(SharedError::from);
    for lookup in lookups.drain(..) {
        let of_lookup = |lookup: &Lookup| {
            let found = found.as_ref().map_err(SharedError::clone)?;
            found.get(lookup.digest.as_bytes()).cloned().transpose()
        };
        let answer = of_lookup(&lookup).map_err(StorageError::from);
        lookup.answer(answer);
    }
}

async fn find(store: &PostgresStore, digest: TokenDigest) -> Answer {
    store
        .read(move |connection| Box::pin(find_one(connection, digest)))
        .await
}

/// What is found for each digest that a key has; its own error, if its row cannot be read.
type Found = HashMap<[u8; 32], Result<Credential, SharedError>>;

async fn find_all(store: &PostgresStore, digests: Arc<[TokenDigest]>) -> Result<Found, StorageError> {
    store
        .read(move |connection| Box::pin(with_digests(connection, digests)))
        .await
}

async fn with_digests(
    connection: &mut AsyncPgConnection,
    digests: Arc<[TokenDigest]>,
) -> Result<Found, Abort<Infallible>> {
    let found = credentials()
        .filter(DigestIsListed(&digests))
        .select((api_keys::digest, columns()));
    let rows: Vec<(Vec<u8>, CredentialRow)> = found.load(connection).await?;
    let found = rows.into_iter().filter_map(|(digest, row)| {
        let credential = Credential::try_from(row).map_err(SharedError::from);
        Some((digest.try_into().ok()?, credential))
    });
    Ok(found.collect())
}

/// `digest IN ($1, …)`. Unlike `= ANY($1)`, it has the number of values in its text, so that PostgreSQL plans
/// it once and not for each array.
#[derive(Debug, Clone, Copy)]
struct DigestIsListed<'a>(&'a [TokenDigest]);

impl DigestIsListed<'_> {
    /// The digests, the last one repeated up to the length of a list.
    fn list(&self) -> impl Iterator<Item = &TokenDigest> {
        let number = self.0.len();
        let length = LIST_LENGTHS.into_iter().find(|length| *length >= number);
        let missing = length.unwrap_or(number) - number;
        self.0
            .iter()
            .chain(self.0.last().into_iter().cycle().take(missing))
    }
}

impl Expression for DigestIsListed<'_> {
    type SqlType = Bool;
}

impl<Tables> AppearsOnTable<Tables> for DigestIsListed<'_> {}

impl ValidGrouping<()> for DigestIsListed<'_> {
    type IsAggregate = is_aggregate::No;
}

impl QueryId for DigestIsListed<'_> {
    type QueryId = ();

    const HAS_STATIC_QUERY_ID: bool = false;
}

impl QueryFragment<Pg> for DigestIsListed<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("api_keys.digest IN (");
        for (place, digest) in self.list().enumerate() {
            if place > 0 {
                out.push_sql(", ");
            }
            out.push_bind_param::<Binary, _>(digest.as_bytes().as_slice())?;
        }
        out.push_sql(")");
        Ok(())
    }
}

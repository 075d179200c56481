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
use tracing::Span;

use super::lookup_queue::{Answer, MAX_TOGETHER, QueryTurn};
use super::schema::api_keys;
use super::sql::credentials::{CredentialRow, columns, credentials, find as find_one};
use super::store::{PostgresStore, SYSTEM};
use crate::abort::{Abort, TooSlow};
use crate::client::Client;
use crate::shared_error::SharedError;
use crate::task::{self, Panicked};
use crate::traces::{self, Operation};

/// The lengths of the lists of digests. A statement is prepared once for each.
const LIST_LENGTHS: [usize; 2] = [8, MAX_TOGETHER];

#[async_trait]
impl Credentials for PostgresStore {
    async fn find(&self, digest: &TokenDigest) -> Answer {
        let deadline = Instant::now() + self.timeouts.answer;
        let (answered, turn) = self.lookups.add(*digest);
        let span = match turn {
            Some(turn) => {
                // A task of its own, because other callers wait for the result even if this one stops.
                let asking = Client::Lookups.run(ask_and_continue(self.clone(), turn));
                drop(task::spawn(asking));
                Span::none()
            }
            None => traces::span_of("find", SYSTEM, Operation::Read),
        };
        let answer = match timeout_at(deadline, answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(StorageError::Defect(Panicked.into())),
            Err(_) => Err(StorageError::Unavailable(TooSlow::Answer.into())),
        };
        traces::end(&span, &answer);
        answer
    }
}

/// Queries once in the trace of the caller who got the turn, and then for further waiting lookups outside of
/// it.
async fn ask_and_continue(store: PostgresStore, turn: QueryTurn) {
    ask(&store, &turn).await;
    if let Some(turn) = turn.again() {
        tokio::spawn(Client::Lookups.run(ask_while_lookups_wait(store, turn)));
    }
}

async fn ask_while_lookups_wait(store: PostgresStore, turn: QueryTurn) {
    let mut next = Some(turn);
    while let Some(turn) = next {
        ask(&store, &turn).await;
        next = turn.again();
    }
}

/// Answers the lookups of one statement. All have its error, if it fails.
async fn ask(store: &PostgresStore, turn: &QueryTurn) {
    let lookups = turn.take();
    let digests: Vec<TokenDigest> = lookups.iter().map(|lookup| lookup.digest).collect();
    // Other turns have queried all of them, or their callers no longer wait.
    if digests.is_empty() {
        return;
    }
    let found = find(store, digests.into()).await.map_err(SharedError::from);
    for lookup in lookups {
        let of_lookup = |found: &Found| found.get(lookup.digest.as_bytes()).cloned().transpose();
        let answer = found.as_ref().map_err(SharedError::clone).and_then(of_lookup);
        lookup.answer(answer.map_err(StorageError::from));
    }
}

/// The result for each digest that a key has; an error if its row cannot be read.
type Found = HashMap<[u8; 32], Result<Credential, SharedError>>;

/// The span of the read has the name of the port's method, as this has.
async fn find(store: &PostgresStore, digests: Arc<[TokenDigest]>) -> Result<Found, StorageError> {
    store
        .read(move |connection| {
            Box::pin(async move {
                match *digests {
                    [digest] => with_digest(connection, digest).await,
                    _ => with_digests(connection, &digests).await,
                }
            })
        })
        .await
}

async fn with_digest(
    connection: &mut AsyncPgConnection,
    digest: TokenDigest,
) -> Result<Found, Abort<Infallible>> {
    let found = find_one(connection, digest).await?;
    let found = found.map(|credential| (*digest.as_bytes(), Ok(credential)));
    Ok(found.into_iter().collect())
}

async fn with_digests(
    connection: &mut AsyncPgConnection,
    digests: &[TokenDigest],
) -> Result<Found, Abort<Infallible>> {
    let found = credentials()
        .filter(DigestIsListed(digests))
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

//! How changes run: one transaction in its own task.
//!
//! A change spends most of its time on round trips to the server, one for each statement that waits for the
//! previous one. Statements that do not depend on each other's results are therefore pipelined, in the order
//! of `try_join`. The server executes them in order, each on what is committed by then, so a statement after
//! a lock sees the state under that lock. If one fails, the transaction is aborted and the later ones fail
//! too; the first error is reported.

use std::pin::pin;
use std::sync::Arc;

use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use keyward_domain::ports::StorageError;
use tokio::time::{Instant, timeout_at};

use super::begin::{begin, for_any_connection};
use super::errors::{commit_error, is_answer_of_server, is_read_only, storage_error};
use super::liveness::Liveness;
use super::numbering::commit_statements;
use super::sql::concerns::summary;
use super::standby::StandbyAway;
use super::store::{PooledConnection, PostgresStore, SYSTEM};
use crate::abort::{Abort, TooSlow, Work};
use crate::claim::Claim;
use crate::key_change_turns::{TurnRequest, in_turn};
use crate::noted_changes::noting;
use crate::progress::{Progress, settled};
use crate::task;
use crate::traces::{self, Operation};

impl PostgresStore {
    /// Runs a change in one transaction, which finishes even if the caller stops waiting.
    ///
    /// A running transaction is never interrupted. At the answer deadline it is withdrawn: it will roll back
    /// instead of committing, so the caller learns at once that nothing changed. Once it commits, only the
    /// wait for it has a deadline.
    pub(super) async fn change<T, E, W>(&self, claim: Claim, work: W) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
        W: Work<AsyncPgConnection, T, E>,
    {
        self.change_begun(Instant::now(), None, claim, begun_before(work))
            .await
    }

    /// Like [`Self::change`], for work that sends [`begin`] itself, pipelined with its first statements: that
    /// saves a round trip.
    pub(super) async fn change_that_begins<T, E, W>(&self, claim: Claim, work: W) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
        W: Work<AsyncPgConnection, T, E>,
    {
        self.change_begun(Instant::now(), None, claim, work).await
    }

    /// A change that began at this moment, once it is its turn. The claim is ignored: no disk space is
    /// reserved on PostgreSQL's server.
    pub(super) async fn change_begun<T, E, W>(
        &self,
        begun: Instant,
        turn: Option<TurnRequest>,
        _: Claim,
        work: W,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
        W: Work<AsyncPgConnection, T, E>,
    {
        let _span = traces::span::<W>(SYSTEM, Operation::Change);
        let progress = Arc::new(Progress::default());
        let committing = commit(self.clone(), Arc::clone(&progress), begun, work);
        let turn_by = begun + self.timeouts.answer / 2;
        let mut task = task::spawn(in_turn(turn, turn_by, committing));

        if let Ok(finished) = timeout_at(begun + self.timeouts.answer, &mut task).await {
            return settled(finished, &progress);
        }
        if progress.withdraw() {
            return Err(StorageError::Unavailable(TooSlow::Answer.into()).into());
        }
        settled(task.await, &progress)
    }
}

/// Work that sends no statement together with [`begin`].
fn begun_before<T, E, W>(work: W) -> impl Work<AsyncPgConnection, T, E>
where
    T: Send + 'static,
    E: Send + 'static,
    W: Work<AsyncPgConnection, T, E>,
{
    for_any_connection(move |connection| {
        Box::pin(async move {
            begin(connection).await?;
            work(connection).await
        })
    })
}

async fn commit<T, E, W>(
    store: PostgresStore,
    progress: Arc<Progress>,
    begun: Instant,
    work: W,
) -> Result<T, E>
where
    T: Send,
    E: From<StorageError> + Send,
    W: Work<AsyncPgConnection, T, E>,
{
    let (answer_by, give_up) = (begun + store.timeouts.answer, begun + store.timeouts.outcome);
    // The client has been answered by then, so the transaction would only hold locks that others wait for.
    let Ok(connection) = timeout_at(answer_by, store.connection()).await else {
        return Err(StorageError::Unavailable(TooSlow::Connection.into()).into());
    };
    let mut connection = InTransaction::on(connection?);
    let liveness = Liveness::of(connection.get());
    let finished = {
        let mut transacting = pin!(transact(&store, &mut connection, &progress, work));
        let step = store.timeouts.step;
        match liveness
            .wait_for(transacting.as_mut(), step, answer_by, give_up)
            .await
        {
            Some(finished) => Ok(finished),
            None => {
                // If this connection is dead, other idle ones are likely dead too.
                store.discard_silent(&liveness);
                timeout_at(give_up, transacting).await
            }
        }
    };
    // The caller was answered long ago. Closing the connection is safe: before COMMIT was sent, the server
    // rolls back; after that, the server decides.
    let Ok((over, outcome)) = finished else {
        return Err(if progress.is_committing() {
            store.abandoned_commits.note();
            StorageError::OutcomeUnknown(TooSlow::Commit.into()).into()
        } else {
            StorageError::Unavailable(TooSlow::Answer.into()).into()
        });
    };
    if let Err(Abort::Query(error)) = &outcome
        && is_read_only(error)
    {
        store.discard_idle();
    } else if over {
        connection.give_back();
    }
    let may_be_committed = progress.is_committing() && !over;
    outcome.map_err(|abort| abort.into_error(may_be_committed, storage_error, commit_error))
}

/// Runs the transaction. Also returns whether the server has confirmed that it ended.
///
/// It also rolls back after an error during COMMIT, if it continues to answer: then the error was one of the
/// statement. A server that ends with its answer to COMMIT (`FATAL`, `PANIC`), and a connection that breaks,
/// answer nothing more, and may have committed. Diesel does not distinguish the severities. Nor does an error
/// mean a rollback that the server [did not answer](is_answer_of_server).
///
/// Diesel's own `transaction` is not used: it waits for the answer to BEGIN before the work can send
/// anything.
async fn transact<T, E, W>(
    store: &PostgresStore,
    connection: &mut InTransaction,
    progress: &Progress,
    work: W,
) -> (bool, Result<T, Abort<E>>)
where
    W: Work<AsyncPgConnection, T, E>,
{
    let connection = connection.get();
    let abandoned_after = store.timeouts.abandoned_commit();
    if store
        .abandoned_commits
        .one_waits_for_standby(connection, abandoned_after)
        .await
    {
        return (true, Err(StorageError::Unavailable(StandbyAway.into()).into()));
    }
    let (done, noted) = noting(work(connection)).await;
    let summarized = match done {
        Ok(value) => summary(connection, noted)
            .await
            .map(|changes| (value, changes))
            .map_err(Abort::from),
        Err(abort) => Err(abort),
    };
    let outcome = match summarized {
        // Last in the transaction: what fails from here on failed during COMMIT.
        Ok((value, changes)) if progress.begin_commit() => {
            match connection.batch_execute(&commit_statements(&changes)).await {
                Ok(()) => return (true, Ok(value)),
                Err(error) => Err(error.into()),
            }
        }
        Ok(_) => Err(StorageError::Unavailable(TooSlow::Answer.into()).into()),
        Err(abort) => Err(abort),
    };
    let rolled_back = connection.batch_execute("ROLLBACK").await;
    let is_answered = match &outcome {
        Err(Abort::Query(error)) if progress.is_committing() => is_answer_of_server(error),
        _ => true,
    };
    (rolled_back.is_ok() && is_answered, outcome)
}

/// A connection on which a transaction may be open. If it is not returned to the pool, it is closed, which
/// ends the transaction.
struct InTransaction(Option<PooledConnection>);

impl InTransaction {
    const fn on(connection: PooledConnection) -> Self {
        Self(Some(connection))
    }

    #[expect(
        clippy::expect_used,
        reason = "only giving it back takes it, which takes this, too"
    )]
    fn get(&mut self) -> &mut AsyncPgConnection {
        self.0.as_mut().expect("a connection")
    }

    fn give_back(mut self) {
        drop(self.0.take());
    }
}

impl Drop for InTransaction {
    fn drop(&mut self) {
        if let Some(connection) = self.0.take() {
            connection.close();
        }
    }
}

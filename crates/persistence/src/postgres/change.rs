//! How changes run: one transaction in a task of its own.
//!
//! What a change takes is mostly the way to the server and back, once for each statement that waits for the one before it.
//! Statements that need no answer to each other are therefore sent together, in the order of `try_join`. The server executes
//! them one after the other, each on what is committed by then: what follows a lock sees what is true under it. If one fails,
//! the transaction is aborted, and so do those after it; the first error is the one that is told.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;

use diesel::QueryResult;
use diesel_async::pooled_connection::deadpool::Object;
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use futures_util::future::BoxFuture;
use keyward_domain::ports::StorageError;
use tokio::time::{Instant, timeout_at};

use super::errors::{commit_error, is_read_only, storage_error};
use super::line::Line;
use super::store::PostgresStore;
use crate::abort::{Abort, TooSlow, Work};
use crate::claim::Claim;
use crate::progress::{Progress, settled};
use crate::{looked, task};

impl PostgresStore {
    /// Runs a change in one transaction, which finishes even if the caller stops waiting.
    ///
    /// Nothing is claimed here: PostgreSQL's disk is its own, and nothing of it is reserved.
    ///
    /// Nothing cuts a live transaction short. At the answer's deadline it is withdrawn: it will roll back instead of
    /// committing, so the caller can be told now that nothing changed. Once it commits, only waiting has a deadline.
    pub(super) async fn change<T, E, W>(&self, _claim: Claim, work: W) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
        W: Work<AsyncPgConnection, T, E>,
    {
        self.change_begun(Instant::now(), begun_before(work)).await
    }

    /// Likewise, where the work sends [`begin`] itself, together with its first statements: that spares a round trip.
    pub(super) async fn change_that_begins<T, E, W>(&self, _claim: Claim, work: W) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
        W: Work<AsyncPgConnection, T, E>,
    {
        self.change_begun(Instant::now(), work).await
    }

    /// Likewise, where the work sends [`begin`], unless a look tells what comes of it: that takes no lock that others wait
    /// for. A look that fails or is late tells nothing, and what it takes is of the change's time. What was asked for happens
    /// even if the caller stops waiting, during the look too.
    pub(super) async fn change_after_look<T, E, L, W>(&self, look: L, _claim: Claim, work: W) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
        L: Work<AsyncPgConnection, Option<Result<T, E>>, Infallible> + Clone,
        W: Work<AsyncPgConnection, T, E>,
    {
        let begun = Instant::now();
        let store = self.clone();
        let changing = task::spawn(async move {
            let look_by = begun + looked::patience(store.timeouts.answer);
            match timeout_at(look_by, store.read(look)).await {
                Ok(Ok(Some(answer))) => answer,
                Ok(Ok(None) | Err(_)) | Err(_) => store.change_begun(begun, work).await,
            }
        });
        match changing.await {
            Ok(changed) => changed,
            Err(error) => Err(StorageError::Defect(error.into()).into()),
        }
    }

    async fn change_begun<T, E, W>(&self, begun: Instant, work: W) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
        W: Work<AsyncPgConnection, T, E>,
    {
        let progress = Arc::new(Progress::default());
        let mut task = task::spawn(commit(self.clone(), Arc::clone(&progress), begun, work));

        if let Ok(finished) = timeout_at(begun + self.timeouts.answer, &mut task).await {
            return settled(finished, &progress);
        }
        if progress.withdraw() {
            return Err(StorageError::Unavailable(TooSlow::Answer.into()).into());
        }
        settled(task.await, &progress)
    }
}

/// Begins the transaction of a change. Of statements that are sent together it comes first.
pub(super) async fn begin(mut connection: &AsyncPgConnection) -> QueryResult<()> {
    connection.batch_execute("BEGIN").await
}

/// Work that needs no statement of its own sent together with [`begin`].
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

/// The same closure: only as an argument is it inferred to take a connection of any lifetime.
pub(super) const fn for_any_connection<T, E, W>(work: W) -> W
where
    W: for<'c> FnOnce(&'c mut AsyncPgConnection) -> BoxFuture<'c, Result<T, Abort<E>>>,
{
    work
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
    let mut connection = InTransaction::on(store.connection().await?);
    let line = Line::of(connection.get());
    let finished = {
        let mut transacting = pin!(transact(&mut connection, &progress, work));
        let step = store.timeouts.step;
        match line
            .wait_for(transacting.as_mut(), step, answer_by, give_up)
            .await
        {
            Some(finished) => Ok(finished),
            None => {
                // Others may be as dead as this line, if it is.
                store.discard_as_dead_as(&line);
                timeout_at(give_up, transacting).await
            }
        }
    };
    // Long after the caller was answered. Closing the connection takes nothing back: before COMMIT was sent, the server rolls
    // back; after that, it is up to it.
    let Ok((over, outcome)) = finished else {
        return Err(if progress.is_committing() {
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
    outcome.map_err(|abort| abort.into_error(progress.is_committing(), storage_error, commit_error))
}

/// Runs the transaction. Says also whether it is over, as far as the server's answers tell.
///
/// Not diesel's own `transaction`: that waits for the answer to BEGIN before it lets the work send anything.
async fn transact<T, E, W>(
    connection: &mut InTransaction,
    progress: &Progress,
    work: W,
) -> (bool, Result<T, Abort<E>>)
where
    W: Work<AsyncPgConnection, T, E>,
{
    let connection = connection.get();
    let outcome = match work(connection).await {
        // Last in the transaction: what fails from here on failed during COMMIT.
        Ok(value) if progress.begin_commit() => {
            return match connection.batch_execute("COMMIT").await {
                Ok(()) => (true, Ok(value)),
                Err(error) => (false, Err(error.into())),
            };
        }
        Ok(_) => Err(StorageError::Unavailable(TooSlow::Answer.into()).into()),
        Err(abort) => Err(abort),
    };
    let rolled_back = connection.batch_execute("ROLLBACK").await;
    (rolled_back.is_ok(), outcome)
}

/// A connection on which a transaction may be open: unless it is given back, it is closed, and with it the transaction.
struct InTransaction(Option<Object<AsyncPgConnection>>);

impl InTransaction {
    const fn on(connection: Object<AsyncPgConnection>) -> Self {
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
            drop(Object::take(connection));
        }
    }
}

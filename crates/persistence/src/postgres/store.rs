//! The store: a pool of connections, and how reads run on it.

use std::convert::Infallible;
use std::error::Error;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use diesel::ConnectionError;
use diesel::result::Error as QueryError;
use diesel_async::AsyncPgConnection;
use diesel_async::pooled_connection::PoolError as ManagerError;
use diesel_async::pooled_connection::deadpool::{Object, Pool, PoolError};
use keyward_domain::ports::StorageError;
use tokio::time::{Instant, timeout, timeout_at};

use super::config::PostgresConfig;
use super::connection::Server;
use super::errors::{is_cut, storage_error};
use super::liveness::Liveness;
use super::lookup_queue::LookupQueue;
use super::numbering::LISTEN;
use super::standby::AbandonedCommits;
use super::tls::TlsError;
use crate::abort::{Abort, TooSlow, Work};
use crate::fair_semaphore::{FairPermit, FairSemaphore, WaitObserver};
use crate::key_change_turns::KeyChangeTurns;
use crate::known_migrations::KnownMigrations;
use crate::task;
use crate::traces::{self, Operation};

/// OpenTelemetry's name of the database.
pub(super) const SYSTEM: &str = "postgresql";

/// Every storage port of the domain, on one PostgreSQL database. Clones share their connections.
///
/// All waits are bounded by [`PostgresConfig`]. A read that takes too long fails with
/// [`Unavailable`](StorageError::Unavailable), and so does a change that has not begun to commit by then: it
/// is rolled back. A change whose COMMIT is not confirmed fails with
/// [`OutcomeUnknown`](StorageError::OutcomeUnknown).
#[derive(Clone)]
pub struct PostgresStore {
    pub(super) server: Arc<Server>,
    pub(super) pool: Pool<AsyncPgConnection>,
    /// As many permits as the pool has connections. The pool by itself would hand these out in order of
    /// arrival.
    permits: FairSemaphore,
    pub(super) lookups: Arc<LookupQueue>,
    pub(super) key_change_turns: KeyChangeTurns,
    pub(super) timeouts: Timeouts,
    pub(super) abandoned_commits: AbandonedCommits,
    pub(super) migrations: KnownMigrations,
    /// Whether its connections listen to changes of access.
    pub(super) listens: bool,
}

#[derive(Clone, Copy)]
pub(super) struct Timeouts {
    pub(super) step: Duration,
    pub(super) answer: Duration,
    pub(super) outcome: Duration,
}

impl Timeouts {
    /// The minimum time that an abandoned commit has waited: a change that has not begun to commit at the
    /// answer deadline is withdrawn, and it may take a step to reach the server.
    pub(super) fn abandoned_commit(self) -> Duration {
        self.outcome.saturating_sub(self.answer + self.step)
    }
}

/// Why a store could not be created. No connection has been made yet.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The trusted certificates could not be loaded.
    #[error("TLS to the database is not possible")]
    Tls(#[from] TlsError),
    /// The connection pool rejects its configuration.
    #[error("the connection pool cannot be made")]
    Pool(#[source] Box<dyn Error + Send + Sync>),
}

/// The use of a store's connections, without the one of the replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolUsage {
    /// The maximum number of connections.
    pub limit: usize,
    /// How many are open, or being opened.
    pub open: usize,
    /// The number of those in use.
    pub in_use: usize,
    /// How many callers wait for one.
    pub waiting: usize,
}

impl PostgresStore {
    /// Creates a store, which connects at its first query.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub fn connect(config: PostgresConfig) -> Result<Self, ConnectError> {
        let timeouts = Timeouts {
            step: config.step_timeout,
            answer: config.answer_timeout,
            outcome: config.outcome_timeout,
        };
        let max_connections = config.max_connections;
        let server = Arc::new(Server::new(config)?);
        Ok(Self {
            pool: pool(&server, max_connections, "")?,
            server,
            permits: FairSemaphore::new(max_connections),
            lookups: Arc::default(),
            key_change_turns: KeyChangeTurns::of_store(max_connections),
            timeouts,
            abandoned_commits: AbandonedCommits::default(),
            migrations: KnownMigrations::postgres(),
            listens: false,
        })
    }

    /// The present use of the connections.
    #[must_use]
    pub fn pool_usage(&self) -> PoolUsage {
        let status = self.pool.status();
        PoolUsage {
            limit: status.max_size,
            open: status.size,
            in_use: status.size.saturating_sub(status.available),
            waiting: self.permits.waiting() + self.lookups.waiting(),
        }
    }

    /// Reports to this observer every wait for a connection that ends from now on. A caller that gets one at
    /// once does not wait.
    pub fn observe_pool_waits(&self, observer: WaitObserver) {
        self.permits.observe_waits(observer);
    }

    /// The same database on one connection of its own, for a replica: it polls and
    /// listens to changes there, however busy the others are.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub fn for_replica(&self) -> Result<Self, ConnectError> {
        Ok(Self {
            pool: pool(&self.server, 1, LISTEN)?,
            permits: FairSemaphore::new(1),
            lookups: Arc::default(),
            listens: true,
            ..self.clone()
        })
    }

    /// Acquires a connection within one step timeout. That covers waiting for one, checking it and opening a
    /// new one, so the pool has no timeouts of its own.
    pub(super) async fn connection(&self) -> Result<PooledConnection, StorageError> {
        let span = traces::span::<Self>(SYSTEM, Operation::Connect);
        let acquired = async {
            let permit = self.permits.acquire().await;
            task::finish(from_pool(self.pool.clone(), permit)).await
        };
        let acquired = match timeout(self.timeouts.step, acquired).await {
            Ok(Ok(Ok(connection))) => Ok(connection),
            Ok(Ok(Err(error))) => Err(StorageError::Unavailable(cause_of(error))),
            Ok(Err(panicked)) => Err(StorageError::Defect(panicked.into())),
            Err(_) => Err(StorageError::Unavailable(TooSlow::Connection.into())),
        };
        traces::end(&span, &acquired);
        acquired
    }

    /// Closes the idle connections: a stopped server or a failover breaks all of them, and each would fail
    /// one request.
    pub(super) fn discard_idle(&self) {
        self.pool.retain(|_, _| false);
    }

    /// If this connection is dead, closes the idle connections that have not answered since it fell silent.
    /// Connections that were used since then have answered.
    pub(super) fn discard_silent(&self, liveness: &Liveness) {
        if let Some(since) = liveness.dead_since(self.timeouts.step) {
            let since = since.into_std();
            self.pool
                .retain(|_, metrics| metrics.recycled.unwrap_or(metrics.created) >= since);
        }
    }

    /// Runs a read to its end or deadline, even if the caller stops waiting. If its connection breaks, the
    /// read is retried once on a new one, which is safe because it changes nothing.
    pub(super) async fn read<T, Q>(&self, query: Q) -> Result<T, StorageError>
    where
        T: Send + 'static,
        Q: Work<AsyncPgConnection, T, Infallible> + Clone,
    {
        let begun = Instant::now();
        let connection = self.connection().await?;
        let span = traces::span::<Q>(SYSTEM, Operation::Read);
        let reading = task::finish(self.clone().read_on(connection, begun, query));
        let answer = match timeout_at(begun + self.timeouts.answer, reading).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(panicked)) => Err(StorageError::Defect(panicked.into())),
            Err(_) => Err(StorageError::Unavailable(TooSlow::Answer.into())),
        };
        traces::end(&span, &answer);
        answer
    }

    /// A read past the caller's deadline continues while the server answers, so that its connection is kept:
    /// with a distant server, the next read would be just as late on a new connection without prepared
    /// statements.
    async fn read_on<T, Q>(
        self,
        mut connection: PooledConnection,
        begun: Instant,
        query: Q,
    ) -> Result<T, StorageError>
    where
        Q: Work<AsyncPgConnection, T, Infallible> + Clone,
    {
        let Timeouts { step, answer, .. } = self.timeouts;
        let deadline = begun + answer;
        // A read of many statements must not occupy its pool slot for all of them when its caller no longer
        // waits. By then, a connection that fell silent before the deadline is known to be dead.
        let give_up = deadline + Liveness::silence(step);
        let again = query.clone();
        let mut liveness = Liveness::of(&mut connection);
        let mut answer = liveness
            .wait_for(query(&mut connection), step, deadline, give_up)
            .await;
        if let Some(Err(Abort::Query(error))) = &answer
            && is_cut(error)
        {
            connection.close();
            self.discard_idle();
            connection = match timeout_at(deadline, self.connection()).await {
                Ok(fresh) => fresh?,
                Err(_) => return Err(StorageError::Unavailable(TooSlow::Connection.into())),
            };
            liveness = Liveness::of(&mut connection);
            answer = liveness
                .wait_for(again(&mut connection), step, deadline, give_up)
                .await;
        }
        match answer {
            Some(answer) => answer.map_err(|abort| abort.into_storage_error(storage_error)),
            None => {
                // Not returned to the pool: its next user would wait for the same answer.
                connection.close();
                self.discard_silent(&liveness);
                Err(StorageError::Unavailable(TooSlow::Answer.into()))
            }
        }
    }
}

/// A pool of connections that are prepared with these further statements.
fn pool(
    server: &Arc<Server>,
    max_connections: usize,
    setup: &'static str,
) -> Result<Pool<AsyncPgConnection>, ConnectError> {
    Pool::builder(Server::manager(Arc::clone(server), setup))
        .max_size(max_connections)
        .build()
        .map_err(|error| ConnectError::Pool(error.into()))
}

/// A connection that is idle, or a new one. One that its caller no longer waits for is still opened, for the
/// next caller in the queue. Otherwise, after an outage, each caller would get its permit with little time
/// left, and abandon a half-open connection.
async fn from_pool(pool: Pool<AsyncPgConnection>, permit: FairPermit) -> Result<PooledConnection, PoolError> {
    Ok(PooledConnection {
        connection: pool.get().await?,
        _permit: permit,
    })
}

/// Why there is no connection. The errors of the pool contain that, and do not name it as their source.
fn cause_of(error: PoolError) -> Box<dyn Error + Send + Sync> {
    match error {
        PoolError::Backend(ManagerError::ConnectionError(ConnectionError::CouldntSetupConfiguration(
            QueryError::QueryBuilderError(refusal),
        ))) => refusal,
        PoolError::Backend(ManagerError::ConnectionError(error)) => error.into(),
        error => error.into(),
    }
}

/// A connection of the pool. Dropping it returns it.
pub(super) struct PooledConnection {
    connection: Object<AsyncPgConnection>,
    /// Dropped after the connection was returned.
    _permit: FairPermit,
}

impl PooledConnection {
    /// Closes the connection instead of returning it.
    pub(super) fn close(self) {
        drop(Object::take(self.connection));
    }
}

impl Deref for PooledConnection {
    type Target = AsyncPgConnection;

    fn deref(&self) -> &AsyncPgConnection {
        &self.connection
    }
}

impl DerefMut for PooledConnection {
    fn deref_mut(&mut self) -> &mut AsyncPgConnection {
        &mut self.connection
    }
}

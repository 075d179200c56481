//! How connections are made and set up.

use std::sync::Arc;
use std::time::Duration;

use diesel::ConnectionError;
use diesel::result::Error as QueryError;
use diesel_async::pooled_connection::{AsyncDieselConnectionManager, ManagerConfig, RecyclingMethod};
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use futures_util::FutureExt;
use keyward_domain::failure_sentence::sentence;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_postgres::NoTls;
use tokio_postgres::config::{Host, TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::addresses;
use super::config::PostgresConfig;
use super::connection_refused::ConnectionRefused;
use super::tls::TlsError;

/// How many connections of a pool are opened at once. After an outage, all are missing. The server starts a
/// process for each, so a few at a time are ready sooner than all at once, and serve all requests.
const OPENED_AT_ONCE: usize = 4;

/// The server to connect to.
pub(super) struct Server {
    pub(super) config: tokio_postgres::Config,
    pub(super) tls: Option<MakeRustlsConnect>,
    limits: SessionLimits,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum EstablishError {
    /// A temporary error: another attempt may succeed.
    #[error(transparent)]
    Unavailable(#[from] ConnectionError),
    #[error(transparent)]
    Refused(ConnectionRefused),
}

impl EstablishError {
    /// Whether the connection was established, and a statement that configures its session failed.
    pub(super) fn is_of_setup(&self) -> bool {
        matches!(
            self,
            Self::Unavailable(ConnectionError::CouldntSetupConfiguration(_))
        )
    }
}

impl From<EstablishError> for ConnectionError {
    fn from(error: EstablishError) -> Self {
        match error {
            EstablishError::Unavailable(error) => error,
            // The only one of diesel's errors that can contain any cause; the store extracts it.
            EstablishError::Refused(refusal) => {
                Self::CouldntSetupConfiguration(QueryError::QueryBuilderError(refusal.into()))
            }
        }
    }
}

/// The limits that the server enforces on a session, so that no statement keeps running after its caller has
/// given up. Zero means no limit.
#[derive(Clone, Copy)]
pub(super) struct SessionLimits {
    pub(super) statement: Duration,
    pub(super) lock: Duration,
    pub(super) idle_in_transaction: Duration,
}

impl Server {
    pub(super) fn new(config: PostgresConfig) -> Result<Self, TlsError> {
        let PostgresConfig { mut server, tls, .. } = config;
        // Settings in the URL take precedence.
        if server.get_application_name().is_none() {
            server.application_name("keyward");
        }
        if server.get_connect_timeout().is_none() {
            server.connect_timeout(config.step_timeout);
        }
        // A cut connection is detected by unacknowledged data and, while waiting, by keepalive probes.
        if server.get_tcp_user_timeout().is_none() {
            server.tcp_user_timeout(config.step_timeout);
        }
        if server.get_keepalives_idle() == tokio_postgres::Config::new().get_keepalives_idle() {
            server.keepalives_idle(Duration::from_secs(5));
        }
        if server.get_keepalives_interval().is_none() {
            server.keepalives_interval(Duration::from_secs(2));
        }
        if server.get_keepalives_retries().is_none() {
            server.keepalives_retries(3);
        }
        // Of several servers one is the primary; the others are skipped.
        if server.get_hosts().len() > 1 {
            server.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        server.ssl_mode(tls.for_tokio_postgres());
        Ok(Self {
            tls: tls.connector(server.get_ssl_negotiation())?,
            config: server,
            limits: SessionLimits {
                statement: config.step_timeout,
                lock: config.step_timeout * 2 / 3,
                idle_in_transaction: config.outcome_timeout,
            },
        })
    }

    /// The manager that opens a pool's connections, each within one step timeout, and prepares it with these
    /// further statements.
    pub(super) fn manager(
        server: Arc<Self>,
        setup: &'static str,
    ) -> AsyncDieselConnectionManager<AsyncPgConnection> {
        let mut config = ManagerConfig::default();
        // A closed connection is recognized locally, so no test query is sent before each use.
        config.recycling_method = RecyclingMethod::Fast;
        let places = Arc::new(Semaphore::new(OPENED_AT_ONCE));
        config.custom_setup = Box::new(move |_url| {
            let (server, places) = (Arc::clone(&server), Arc::clone(&places));
            async move {
                let _place = places.acquire().await;
                let establishing = server.establish(server.limits, setup);
                match timeout(server.limits.statement, establishing).await {
                    Ok(established) => established.map_err(ConnectionError::from),
                    Err(_) => Err(ConnectionError::BadConnection(server.is_silent())),
                }
            }
            .boxed()
        });
        // The custom setup connects by itself and ignores the manager's URL.
        AsyncDieselConnectionManager::new_with_config("", config)
    }

    fn is_silent(&self) -> String {
        format!("{}: no connection was opened in time", self.address())
    }

    /// Opens a connection with these limits, and runs these further statements on it in the same round trip.
    pub(super) async fn establish(
        &self,
        limits: SessionLimits,
        setup: &'static str,
    ) -> Result<AsyncPgConnection, EstablishError> {
        let mut connection = match &self.tls {
            Some(tls) => {
                let connected = addresses::connect(&self.config, tls.clone()).await;
                let (client, connection) = connected.map_err(|error| self.cannot_connect(&error))?;
                AsyncPgConnection::try_from_client_and_connection(client, connection).await?
            }
            None => {
                let connected = addresses::connect(&self.config, NoTls).await;
                let (client, connection) = connected.map_err(|error| self.cannot_connect(&error))?;
                AsyncPgConnection::try_from_client_and_connection(client, connection).await?
            }
        };
        connection
            .batch_execute(&(limits.setup_sql() + setup))
            .await
            .map_err(ConnectionError::CouldntSetupConfiguration)?;
        Ok(connection)
    }

    /// Why every host of the URL refuses connections; `None` if one accepts them, or may later.
    pub(super) async fn refusal_of_every_host(&self) -> Option<ConnectionRefused> {
        let step = self.limits.statement;
        match &self.tls {
            Some(tls) => addresses::refusal_of_every_host(&self.config, tls.clone(), step).await,
            None => addresses::refusal_of_every_host(&self.config, NoTls, step).await,
        }
    }

    fn cannot_connect(&self, error: &tokio_postgres::Error) -> EstablishError {
        match ConnectionRefused::from_error(error) {
            Some(refusal) => EstablishError::Refused(refusal),
            None => {
                let words = format!("{}: {}", self.address(), reason(error));
                ConnectionError::BadConnection(words).into()
            }
        }
    }

    /// `host:port` or the socket's folder; all of them, if there are several.
    pub(super) fn address(&self) -> String {
        let ports = self.config.get_ports();
        let hosts = self.config.get_hosts().iter().enumerate().map(|(index, host)| {
            let port = ports.get(index).or_else(|| ports.first()).unwrap_or(&5432);
            match host {
                Host::Tcp(host) => format!("{host}:{port}"),
                #[cfg(unix)]
                Host::Unix(folder) => folder.join(format!(".s.PGSQL.{port}")).display().to_string(),
            }
        });
        hosts.collect::<Vec<_>>().join(", ")
    }
}

impl SessionLimits {
    /// Settings are sent as statements, because poolers refuse startup options. The locks in this crate
    /// assume this isolation level, which may not be the database's default.
    ///
    /// JIT compilation is off: every statement is short, and one whose cost PostgreSQL overestimates would
    /// spend a second on compilation each time instead of milliseconds on execution.
    ///
    /// A commit is on disk, and on that of the synchronous standbys, before it is answered, even if the
    /// database's default is another, or becomes so when its configuration is reloaded: neither a crash nor a
    /// failover must undo a revocation.
    ///
    /// A connection to a standby is closed at once: a standby lags behind, so it would accept a key after its
    /// revocation was answered. No session survives its server's demotion to standby, because that takes a
    /// restart.
    fn setup_sql(self) -> String {
        format!(
            "SET statement_timeout = {}; SET lock_timeout = {}; SET idle_in_transaction_session_timeout = {}; \
             SET default_transaction_isolation = 'read committed'; SET jit = off; \
             SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') \
             WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false); \
             DO $$ BEGIN IF pg_is_in_recovery() THEN RAISE EXCEPTION 'the server is a standby'; END IF; END $$; ",
            self.statement.as_millis(),
            self.lock.as_millis(),
            self.idle_in_transaction.as_millis(),
        )
    }
}

/// The server's own message, else the driver's with its causes. None of them contains the password.
fn reason(error: &tokio_postgres::Error) -> String {
    if let Some(answer) = error.as_db_error() {
        return answer.message().to_owned();
    }
    sentence(error)
}

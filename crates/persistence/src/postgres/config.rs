//! The configuration of a store.

use std::time::Duration;

use tokio_postgres::config::Host;

use super::database_url::{self, InvalidDatabaseUrl};
use super::tls::TlsMode;

/// Where the database is, and how long to wait for it. `Debug` shows no password.
#[derive(Clone, Debug)]
pub struct PostgresConfig {
    pub(super) server: tokio_postgres::Config,
    pub(super) tls: TlsMode,
    /// The maximum number of pooled connections. Default: 16.
    pub max_connections: usize,
    /// The timeout of one step: acquiring a connection, or one statement. The lock timeout is two thirds of
    /// it. Default: 1.5 s.
    pub step_timeout: Duration,
    /// The timeout until a read is answered, or a change begins to commit; after that it is abandoned and
    /// changes nothing. Default: 1.9 s.
    pub answer_timeout: Duration,
    /// The timeout of a change that began to commit; after that its outcome is unknown. Default: 8 s.
    pub outcome_timeout: Duration,
}

impl PostgresConfig {
    /// Reads `postgres://user:password@host:port/database?option=value`, as libpq does (PostgreSQL
    /// documentation, §34.1.1.2), with the options that `tokio-postgres` knows and these:
    ///
    /// | `sslmode` | connects |
    /// |---|---|
    /// | `disable` | in the clear |
    /// | `prefer` (the default) | with TLS if the server offers it, else in the clear; verifies nothing |
    /// | `require` | with TLS only; verifies nothing, so it is safe from those who listen, not from those who interfere |
    /// | `verify-ca` | with TLS only, if the certificate leads to one of `sslrootcert` |
    /// | `verify-full` | like `verify-ca`, and the certificate names the host; `sslrootcert` defaults to `system` |
    ///
    /// `sslrootcert` is a file of PEM certificates, or `system` for those that the operating system trusts.
    ///
    /// # Errors
    /// See [`InvalidDatabaseUrl`]. No message contains a password.
    pub fn from_url(url: &str) -> Result<Self, InvalidDatabaseUrl> {
        let (server, tls) = database_url::parse(url)?;
        Ok(Self {
            server,
            tls,
            max_connections: 16,
            step_timeout: Duration::from_millis(1_500),
            answer_timeout: Duration::from_millis(1_900),
            outcome_timeout: Duration::from_secs(8),
        })
    }

    /// The name of the database and its hosts, such as `keyward on db.example.com`.
    #[must_use]
    pub fn location(&self) -> String {
        let name = self.server.get_dbname().or_else(|| self.server.get_user());
        let hosts = self.server.get_hosts().iter().map(|host| match host {
            Host::Tcp(host) => host.clone(),
            Host::Unix(directory) => directory.display().to_string(),
        });
        format!(
            "{} on {}",
            name.unwrap_or_default(),
            hosts.collect::<Vec<_>>().join(", ")
        )
    }
}

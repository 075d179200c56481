//! The address of a server, from which the addresses of its databases are made.

use std::fmt;
use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::{Client, Config, NoTls};

use crate::Error;
use crate::error::Doing;

/// The URL of a PostgreSQL server's maintenance database, as a role that may create databases.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerUrl {
    before_database: String,
    database: String,
    after_database: String,
}

impl ServerUrl {
    /// Reads `postgres://user:password@host:port/database?options`; the database defaults to `postgres`.
    ///
    /// # Errors
    /// [`Error::BadUrl`] when it is not a valid URL.
    pub fn parse(url: &str) -> Result<Self, Error> {
        let bad = |reason: String| Error::BadUrl {
            url: without_password(url),
            reason,
        };
        let authority = ["postgres://", "postgresql://"]
            .iter()
            .find_map(|scheme| url.strip_prefix(scheme))
            .ok_or_else(|| bad("it does not begin with postgres://".to_owned()))?;
        url.parse::<Config>().map_err(|error| bad(error.to_string()))?;
        let scheme_length = url.len() - authority.len();
        let path_start = scheme_length + authority.find(['/', '?']).unwrap_or(authority.len());
        let (before, path) = url.split_at(path_start);
        let (database, after) = path.split_at(path.find('?').unwrap_or(path.len()));
        let database = database.trim_start_matches('/');
        Ok(Self {
            before_database: before.to_owned(),
            database: if database.is_empty() { "postgres" } else { database }.to_owned(),
            after_database: after.to_owned(),
        })
    }

    /// The URL of another database of the same server.
    #[must_use]
    pub fn of_database(&self, name: &str) -> String {
        format!("{}/{name}{}", self.before_database, self.after_database)
    }

    /// The URL of the maintenance database.
    #[must_use]
    pub fn maintenance(&self) -> String {
        self.of_database(&self.database)
    }

    pub(crate) async fn connect(&self) -> Result<Client, Error> {
        connect(&self.maintenance())
            .await
            .doing(|| format!("connect to {self:?}"))
    }
}

/// Shows no password.
impl fmt::Debug for ServerUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&without_password(&self.maintenance()))
    }
}

/// How long one attempt may take: another program on the port may accept connections and never answer.
const ATTEMPT: Duration = Duration::from_secs(2);

/// Whether the server accepts the connection.
pub(crate) async fn answers(url: &ServerUrl) -> Result<(), String> {
    match timeout(ATTEMPT, connect(&url.maintenance())).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(elapsed) => Err(elapsed.to_string()),
    }
}

/// Connects; the connection ends when the client is dropped.
pub(crate) async fn connect(url: &str) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(async move {
        // What breaks the connection reaches the client too, as the error of its statement.
        let _ = connection.await;
    });
    Ok(client)
}

fn without_password(url: &str) -> String {
    let authority_start = url.find("://").map_or(0, |index| index + 3);
    let (scheme, rest) = url.split_at(authority_start);
    let Some((user_and_password, host)) = rest.rsplit_once('@') else {
        return url.to_owned();
    };
    let user = user_and_password
        .split_once(':')
        .map_or(user_and_password, |(user, _)| user);
    format!("{scheme}{user}@{host}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn database_name_replaces_the_maintenance_database() {
        for (url, expected) in [
            (
                "postgres://u:p@host:5432/postgres",
                "postgres://u:p@host:5432/fresh",
            ),
            ("postgresql://u@host", "postgresql://u@host/fresh"),
            (
                "postgres://u@host?connect_timeout=3",
                "postgres://u@host/fresh?connect_timeout=3",
            ),
            (
                "postgres://u@/admin?host=/run/socket",
                "postgres://u@/fresh?host=/run/socket",
            ),
        ] {
            assert_eq!(ServerUrl::parse(url).unwrap().of_database("fresh"), expected);
        }
    }

    #[test]
    fn url_without_a_database_means_postgres() {
        assert_eq!(
            ServerUrl::parse("postgres://u@host").unwrap().maintenance(),
            "postgres://u@host/postgres"
        );
    }

    #[test]
    fn invalid_url_is_rejected_with_the_expected_form() {
        let message = ServerUrl::parse("host=localhost user=me")
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("write postgres://user:password@host:port/postgres"),
            "{message}"
        );
    }

    #[test]
    fn password_is_never_shown() {
        let url = ServerUrl::parse("postgres://me:s3cret@host/postgres").unwrap();
        assert_eq!(format!("{url:?}"), "postgres://me@host/postgres");
        let message = ServerUrl::parse("postgres://me:s3cret@host:nonsense/postgres")
            .unwrap_err()
            .to_string();
        assert!(!message.contains("s3cret"), "{message}");
    }
}

//! Permanent connection refusals, as opposed to a server that is temporarily unavailable.

use std::error::Error;
use std::io;

use tokio_postgres::error::SqlState;

/// Why the server refuses connections with this URL. Retrying does not help. No message contains the
/// password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectionRefused {
    /// Wrong user or password.
    #[error("the database server refuses the user or password (check both in the database URL): {0}")]
    User(String),
    /// The role has no CONNECT privilege on the database.
    #[error(
        "this database role may not connect to the database (grant it CONNECT, or check both in the database URL): {0}"
    )]
    MayNotConnect(String),
    /// `pg_hba.conf` has no entry for this connection, for example because it requires TLS.
    #[error(
        "pg_hba.conf has no entry for this connection (check it on the database server, and sslmode in the database URL): {0}"
    )]
    NotAdmitted(String),
    /// The server has no database of this name.
    #[error("the database does not exist (create it, or check the name at the end of the database URL): {0}")]
    NoSuchDatabase(String),
    /// The server has no TLS, or a certificate that is not accepted.
    #[error(
        "TLS to the database server fails (check sslmode and sslrootcert in the database URL, and the server's \
         certificate): {0}"
    )]
    Tls(String),
    /// A transaction-mode pooler would lose session settings and prepared statements.
    #[error(
        "the database URL leads to a pooler that gives each transaction or statement another session: let it pool by session \
         (pgbouncer: pool_mode = session), or connect to PostgreSQL directly"
    )]
    PooledByTransaction,
}

impl ConnectionRefused {
    /// The permanent refusal in an error; `None` if the error may be temporary.
    pub(super) fn from_error(error: &tokio_postgres::Error) -> Option<Self> {
        if let Some(answer) = error.as_db_error() {
            let message = answer.message().to_owned();
            return match *answer.code() {
                SqlState::INVALID_AUTHORIZATION_SPECIFICATION if message.contains("pg_hba.conf") => {
                    Some(Self::NotAdmitted(message))
                }
                SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
                    Some(Self::User(message))
                }
                SqlState::INSUFFICIENT_PRIVILEGE => Some(Self::MayNotConnect(message)),
                SqlState::INVALID_CATALOG_NAME => Some(Self::NoSuchDatabase(message)),
                _ => None,
            };
        }
        let source = error.source()?;
        // `tokio-postgres` has no error code for these two, only text.
        match source.to_string() {
            words if words == "password missing" => Some(Self::User("the password is missing".to_owned())),
            words if words == "server does not support TLS" => Some(Self::Tls(words)),
            words => source
                .downcast_ref::<io::Error>()
                .and_then(io::Error::get_ref)
                .is_some_and(|error| error.is::<rustls::Error>())
                .then(|| Self::Tls(explained(words))),
        }
    }
}

/// Adds what to do to the two refusals of certificates that PostgreSQL's manual shows how to make. rustls only passes
/// on the names of these errors.
fn explained(words: String) -> String {
    let advice = if words.contains("CaUsedAsEndEntity") {
        "the server's certificate is that of an authority; issue it one with basicConstraints CA:FALSE"
    } else if words.contains("UnsupportedCertVersion") {
        "the server's certificate is not X.509 version 3; issue it one with a subjectAltName"
    } else {
        return words;
    };
    format!("{words}: {advice}")
}

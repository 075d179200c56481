//! Detects a connection pooler that uses transaction or statement pooling.
//!
//! With such a pooler, session limits and prepared statements would be lost, or belong to another process.
//! Some poolers refuse prepared statements in that mode; others track them and silently lose only the
//! settings. So this is checked before anything depends on it.

use std::time::Duration;

use futures_util::future::try_join;
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Connection, Error, NoTls, SimpleQueryMessage, Socket};

use super::addresses;
use super::connection::Server;

const SESSION: &str = "SELECT pg_backend_pid()";

impl Server {
    /// Tests with two clients. Returns `false` if there is not enough time or connections for the test.
    pub(super) async fn is_pooled_by_transaction(&self, within: Duration) -> bool {
        matches!(timeout(within, self.shares_sessions()).await, Ok(Ok(true)))
    }

    async fn shares_sessions(&self) -> Result<bool, Error> {
        let (first, second) = try_join(self.client(), self.client()).await?;
        let (Some(of_first), Some(of_second)) = (session(&first).await?, session(&second).await?) else {
            return Ok(false);
        };
        // While the second client holds a transaction, the pooler cannot give its session to the first.
        match second.simple_query("BEGIN").await {
            Ok(_) => {}
            // PostgreSQL itself never answers BEGIN with this error; a statement-mode pooler does.
            Err(error) if error.code() == Some(&SqlState::PROTOCOL_VIOLATION) => return Ok(true),
            Err(error) => return Err(error),
        }
        let in_transaction = session(&second).await?;
        let of_first_later = session(&first).await?;
        second.simple_query("ROLLBACK").await?;
        let (Some(in_transaction), Some(of_first_later)) = (in_transaction, of_first_later) else {
            return Ok(false);
        };
        let sessions = Sessions {
            of_first: [of_first, of_first_later],
            of_second: [of_second, in_transaction],
        };
        Ok(sessions.are_shared())
    }

    async fn client(&self) -> Result<Client, Error> {
        match &self.tls {
            Some(tls) => addresses::connect(&self.config, tls.clone()).await.map(driven),
            None => addresses::connect(&self.config, NoTls).await.map(driven),
        }
    }
}

/// The server processes of two connected clients, each observed twice.
struct Sessions {
    of_first: [i32; 2],
    of_second: [i32; 2],
}

impl Sessions {
    /// Whether a client switched sessions, or shared one with the other.
    fn are_shared(&self) -> bool {
        let [first, first_later] = self.of_first;
        let [second, second_later] = self.of_second;
        first != first_later || second != second_later || first == second
    }
}

/// Uses the simple protocol, which prepares no statement.
async fn session(client: &Client) -> Result<Option<i32>, Error> {
    let answer = client.simple_query(SESSION).await?;
    Ok(answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0)?.parse().ok(),
        _ => None,
    }))
}

/// The connection ends when the client is dropped.
fn driven<T>((client, connection): (Client, Connection<Socket, T>)) -> Client
where
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    tokio::spawn(async move { drop(connection.await) });
    client
}

#[cfg(test)]
mod tests {
    use super::Sessions;

    fn are_shared(of_first: [i32; 2], of_second: [i32; 2]) -> bool {
        Sessions { of_first, of_second }.are_shared()
    }

    #[test]
    fn clients_with_distinct_stable_sessions_share_none() {
        assert!(!are_shared([1, 1], [2, 2]));
    }

    #[test]
    fn clients_with_changing_or_equal_sessions_share_them() {
        assert!(are_shared([1, 1], [1, 1]), "one after the other");
        assert!(are_shared([1, 2], [3, 3]), "the first was given another");
        assert!(are_shared([1, 1], [2, 3]), "the second was given another");
    }
}

//! A pooler that lends a session for one transaction.

use keyward_persistence::postgres::{MigrateError, PostgresConfig, PostgresStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A message of the server: its type and body (PostgreSQL's manual, *Message Formats*).
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("a short message");
    [&[kind], &length.to_be_bytes()[..], body].concat()
}

/// Lets a client in, and answers each of its queries by `answer`.
async fn pool(mut client: TcpStream, answer: fn(&[u8]) -> Vec<u8>) -> std::io::Result<()> {
    let length = client.read_u32().await?;
    client
        .read_exact(&mut vec![0; (length - 4).try_into().expect("a length")])
        .await?;
    let admitted = message(b'R', &0_u32.to_be_bytes());
    client.write_all(&[admitted, ready()].concat()).await?;
    loop {
        let kind = client.read_u8().await?;
        let length = client.read_u32().await?;
        let mut query = vec![0; (length - 4).try_into().expect("a length")];
        client.read_exact(&mut query).await?;
        if kind != b'Q' {
            return Ok(());
        }
        client.write_all(&answer(&query)).await?;
    }
}

fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

/// The number of the one session that all clients share.
fn shared_session(_query: &[u8]) -> Vec<u8> {
    let column = b"\0\x01pid\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0";
    let row = b"\0\x01\0\0\0\x0242";
    [
        message(b'T', column),
        message(b'D', row),
        message(b'C', b"SELECT 1\0"),
        ready(),
    ]
    .concat()
}

/// As pgbouncer refuses to begin a transaction where it pools by statement.
fn no_transaction(query: &[u8]) -> Vec<u8> {
    if query.starts_with(b"BEGIN") {
        let words = b"SFATAL\0C08P01\0Mtransaction blocks not allowed in statement pooling mode\0\0";
        message(b'E', words)
    } else {
        shared_session(query)
    }
}

async fn assert_refused(answer: fn(&[u8]) -> Vec<u8>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("its address");
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(pool(client, answer));
        }
    });
    let url = format!("postgres://keyward@{address}/keyward?sslmode=disable");
    let store = PostgresStore::connect(PostgresConfig::from_url(&url).expect("a URL")).expect("a store");
    let refused = store.inspect_schema().await.expect_err("a refusal");
    assert!(matches!(refused, MigrateError::Refused(_)), "{refused:?}");
    let words = refused.to_string();
    assert!(words.contains("pool_mode = session"), "{words}");
}

#[tokio::test]
async fn transaction_pooling_is_refused_with_advice() {
    assert_refused(shared_session).await;
}

#[tokio::test]
async fn statement_pooling_is_refused_with_advice() {
    assert_refused(no_transaction).await;
}

//! A pooler that lends a session for one transaction.

use keyward_persistence::postgres::{MigrateError, PostgresConfig, PostgresStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A message of the server: its type and what it says (PostgreSQL's manual, *Message Formats*).
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("a short message");
    [&[kind], &length.to_be_bytes()[..], body].concat()
}

/// Lets one client in and answers each of its queries with the number of the one session that all clients share.
async fn lend_session(mut client: TcpStream) -> std::io::Result<()> {
    let ready = message(b'Z', b"I");
    let length = client.read_u32().await?;
    client
        .read_exact(&mut vec![0; (length - 4).try_into().expect("a length")])
        .await?;
    let admitted = message(b'R', &0_u32.to_be_bytes());
    client.write_all(&[admitted, ready.clone()].concat()).await?;
    loop {
        let kind = client.read_u8().await?;
        let length = client.read_u32().await?;
        client
            .read_exact(&mut vec![0; (length - 4).try_into().expect("a length")])
            .await?;
        if kind != b'Q' {
            return Ok(());
        }
        let column = b"\0\x01pid\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0";
        let row = b"\0\x01\0\0\0\x0242";
        let answer = [
            message(b'T', column),
            message(b'D', row),
            message(b'C', b"SELECT 1\0"),
            ready.clone(),
        ];
        client.write_all(&answer.concat()).await?;
    }
}

#[tokio::test]
async fn pooling_by_transaction_is_refused_with_what_to_do() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("its address");
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(lend_session(client));
        }
    });
    let url = format!("postgres://keyward@{address}/keyward?sslmode=disable");
    let store = PostgresStore::connect(PostgresConfig::from_url(&url).expect("a URL")).expect("a store");
    let refused = store.look().await.expect_err("a refusal");
    assert!(matches!(refused, MigrateError::Refused(_)), "{refused:?}");
    let words = refused.to_string();
    assert!(words.contains("pool_mode = session"), "{words}");
}

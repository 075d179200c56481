//! A database with many more keys than an export is made of: copies of one of its keys are copied into the table.

use std::pin::pin;
use std::time::Instant;

use futures_util::{SinkExt as _, TryStreamExt as _};
use tokio_postgres::{Client, Error, NoTls};

use crate::installation::{Installation, digest, id};
use crate::token::well_formed;
use keyward_tests::storage::Storage;

/// How many rows are sent at once.
const AT_ONCE: usize = 1_000;

/// A PostgreSQL database with an installation, and more keys: as many in all.
pub(crate) async fn make(installation: &Installation, count: usize) -> Storage {
    let storage = Storage::postgres().await;
    installation.import_into(&storage).await;
    let (client, connection) = tokio_postgres::connect(storage.as_postgres().url(), NoTls)
        .await
        .expect("a connection");
    let connection = tokio::spawn(connection);
    let begun = Instant::now();
    add(&client, installation.keys + 1, count).await.expect("keys");
    eprintln!("stored {count} keys in {:.1} s", begun.elapsed().as_secs_f64());
    drop(client);
    let _ = connection.await;
    storage
}

/// Adds copies of the first key, with identifiers and digests of their own.
async fn add(client: &Client, first: usize, last: usize) -> Result<(), Error> {
    // Without triggers: they keep what is not asked for here, and take twenty minutes for a million keys.
    client
        .batch_execute("SET session_replication_role = replica")
        .await?;
    // Indexes that only make questions fast are made anew at the end: it takes half of the time.
    let indexes = client
        .query(
            "SELECT 'DROP INDEX ' || indexrelid::regclass, pg_get_indexdef(indexrelid) FROM pg_index
             WHERE indrelid = 'api_keys'::regclass AND NOT indisunique ORDER BY indexrelid",
            &[],
        )
        .await?;
    let dropped: Vec<String> = indexes.iter().map(|index| index.get(0)).collect();
    let made_again: Vec<String> = indexes.iter().map(|index| index.get(1)).collect();
    client.batch_execute(&dropped.join("; ")).await?;
    let others = client
        .query_one(
            "SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns
             WHERE table_schema = current_schema() AND table_name = 'api_keys' AND is_generated = 'NEVER'
                 AND column_name NOT IN ('id', 'digest')",
            &[],
        )
        .await?;
    let others: String = others.get(0);
    let one = format!("SELECT {others} FROM api_keys WHERE id = '{}'", id(1));
    let one = copied_out(client, &one).await?;
    copy(
        client,
        &format!("api_keys (id, digest, {others})"),
        first,
        last,
        |number| format!("{}\t\\\\x{}\t{one}", id(number), digest(&well_formed(number))),
    )
    .await?;
    client.batch_execute(&made_again.join("; ")).await?;
    client.batch_execute("VACUUM ANALYZE api_keys").await
}

/// What a query finds, a line for each row, as COPY reads and writes it.
async fn copied_out(client: &Client, query: &str) -> Result<String, Error> {
    let rows = client.copy_out(&format!("COPY ({query}) TO STDOUT")).await?;
    let rows: Vec<_> = rows.try_collect().await?;
    Ok(String::from_utf8(rows.concat()).expect("text"))
}

/// Adds the rows of these numbers, each a line as COPY reads it.
async fn copy(
    client: &Client,
    table: &str,
    first: usize,
    last: usize,
    row: impl Fn(usize) -> String,
) -> Result<(), Error> {
    let mut sink = pin!(client.copy_in(&format!("COPY {table} FROM STDIN")).await?);
    for first in (first..=last).step_by(AT_ONCE) {
        let rows: String = (first..=last.min(first + AT_ONCE - 1)).map(&row).collect();
        sink.send(std::io::Cursor::new(rows)).await?;
    }
    sink.finish().await.map(drop)
}

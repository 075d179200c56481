//! A database with many more keys than an export is made of: copies of one of its keys, and of its
//! event, are copied into the tables.

use std::pin::pin;
use std::time::Instant;

use chrono::DateTime;
use futures_util::{SinkExt as _, TryStreamExt as _};
use tokio_postgres::{Client, Error, NoTls};

use crate::installation::{Installation, digest, id};
use crate::token::well_formed;
use keyward_tests::storage::Storage;

/// How many rows are sent at once.
const AT_ONCE: usize = 1_000;

/// A PostgreSQL database with an installation, this many keys in all, and this many audit events.
pub(crate) async fn make(installation: &Installation, keys: usize, events: usize) -> Storage {
    let storage = Storage::postgres().await;
    installation.import_into(&storage).await;
    let (client, connection) = tokio_postgres::connect(storage.as_postgres().url(), NoTls)
        .await
        .expect("a connection");
    let connection = tokio::spawn(connection);
    let begun = Instant::now();
    let first = installation.keys + 1;
    add_keys(&client, first, keys).await.expect("keys");
    eprintln!("stored {keys} keys in {:.1} s", begun.elapsed().as_secs_f64());
    let begun = Instant::now();
    add_events(&client, events).await.expect("events");
    eprintln!("stored {events} events in {:.1} s", begun.elapsed().as_secs_f64());
    drop(client);
    let _ = connection.await;
    storage
}

/// Adds copies of the first key, with identifiers and digests of their own.
async fn add_keys(client: &Client, first: usize, last: usize) -> Result<(), Error> {
    let table = Table::of(client, "api_keys", &["id", "digest"]).await?;
    let one = table.row_where(&format!("id = '{}'", id(1))).await?;
    table
        .add(first, last, |number| {
            format!("{}\t\\\\x{}\t{one}", id(number), digest(&well_formed(number)))
        })
        .await
}

/// Adds this many copies of the event that a key was created, one a second until now, about the keys.
async fn add_events(client: &Client, count: usize) -> Result<(), Error> {
    let table = Table::of(client, "audit_events", &["id", "occurred_at", "subject_id"]).await?;
    let one = table.row_where("action = 'api_key.create'").await?;
    let now = client
        .query_one("SELECT CAST(extract(epoch FROM now()) AS bigint)", &[])
        .await?;
    let now: i64 = now.get(0);
    table
        .add(1, count, |number| {
            let occurred_at = DateTime::from_timestamp(now - (count - number) as i64, 0).expect("a moment");
            format!("{0}\t{occurred_at}\t{0}\t{one}", id(number))
        })
        .await
}

/// A table, whose rows are to have other values in some of its columns than another row has.
struct Table<'a> {
    client: &'a Client,
    name: &'static str,
    own: String,
    others: String,
}

impl<'a> Table<'a> {
    async fn of(client: &'a Client, name: &'static str, own: &[&str]) -> Result<Self, Error> {
        let others = client
            .query_one(
                "SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns
                 WHERE table_schema = current_schema() AND table_name = $1 AND is_generated = 'NEVER'
                     AND is_identity = 'NO' AND column_name <> ALL ($2)",
                &[&name, &own],
            )
            .await?;
        Ok(Self {
            client,
            name,
            own: own.join(", "),
            others: others.get(0),
        })
    }

    /// The other values of one row, as COPY writes and reads them.
    async fn row_where(&self, condition: &str) -> Result<String, Error> {
        let Self { name, others, .. } = self;
        let query = format!("COPY (SELECT {others} FROM {name} WHERE {condition} LIMIT 1) TO STDOUT");
        let rows = self.client.copy_out(&query).await?;
        let rows: Vec<_> = rows.try_collect().await?;
        Ok(String::from_utf8(rows.concat()).expect("text"))
    }

    /// Adds the rows of these numbers, each a line as COPY reads it.
    async fn add(&self, first: usize, last: usize, row: impl Fn(usize) -> String) -> Result<(), Error> {
        let Self {
            client,
            name,
            own,
            others,
        } = self;
        // Without triggers: they maintain data that is not used here, and take twenty minutes for a million keys.
        client
            .batch_execute("SET session_replication_role = replica")
            .await?;
        // Indexes that only make questions fast are made again at the end: it takes half of the time. Of two of the
        // same cost, PostgreSQL takes the one that was made last.
        let indexes = client
            .query(
                "SELECT 'DROP INDEX ' || indexrelid::regclass, pg_get_indexdef(indexrelid) FROM pg_index
                 WHERE indrelid = to_regclass($1) AND NOT indisunique ORDER BY indexrelid",
                &[name],
            )
            .await?;
        let dropped: Vec<String> = indexes.iter().map(|index| index.get(0)).collect();
        let made_again: Vec<String> = indexes.iter().map(|index| index.get(1)).collect();
        client.batch_execute(&dropped.join("; ")).await?;
        let copy = format!("COPY {name} ({own}, {others}) FROM STDIN");
        let mut sink = pin!(client.copy_in(&copy).await?);
        for first in (first..=last).step_by(AT_ONCE) {
            let rows: String = (first..=last.min(first + AT_ONCE - 1)).map(&row).collect();
            sink.send(std::io::Cursor::new(rows)).await?;
        }
        sink.finish().await?;
        client.batch_execute(&made_again.join("; ")).await?;
        // All tables: otherwise PostgreSQL would do it some time during the measurement, and plan otherwise then.
        client.batch_execute("VACUUM ANALYZE").await
    }
}

//! A database with many more keys than an export is made of: they are added to the table in bulk.

use tokio_postgres::{Client, NoTls};

use crate::installation::{Installation, digest, id};
use crate::token::well_formed;
use keyward_tests::storage::Storage;

/// How many rows are added at once.
const AT_ONCE: usize = 20_000;

/// A PostgreSQL database with an installation, and more keys: as many in all.
pub(crate) async fn make(installation: &Installation, count: usize) -> Storage {
    let storage = Storage::postgres().await;
    installation.import_into(&storage).await;
    let (client, connection) = tokio_postgres::connect(storage.as_postgres().url(), NoTls)
        .await
        .expect("a connection");
    let connection = tokio::spawn(connection);
    add(&client, installation.keys + 1, count).await.expect("keys");
    drop(client);
    let _ = connection.await;
    storage
}

/// Adds copies of the first key, with identifiers and digests of their own.
async fn add(client: &Client, first: usize, last: usize) -> Result<(), tokio_postgres::Error> {
    // Without triggers: they keep what is not asked for here, and take twenty minutes for a million keys.
    client
        .batch_execute("SET session_replication_role = replica")
        .await?;
    let columns = client
        .query(
            "SELECT quote_ident(column_name) FROM information_schema.columns
             WHERE table_schema = current_schema() AND table_name = 'api_keys' AND is_generated = 'NEVER'",
            &[],
        )
        .await?;
    let columns: Vec<String> = columns.iter().map(|row| row.get(0)).collect();
    let values: Vec<String> = columns
        .iter()
        .map(|column| match column.as_str() {
            "id" => "added.id::uuid".to_owned(),
            "digest" => "decode(added.digest, 'hex')".to_owned(),
            _ => format!("one.{column}"),
        })
        .collect();
    let statement = format!(
        "INSERT INTO api_keys ({}) SELECT {} FROM unnest($1::text[], $2::text[]) AS added (id, digest),
         (SELECT * FROM api_keys WHERE id = '{}') AS one",
        columns.join(", "),
        values.join(", "),
        id(1),
    );
    let statement = client.prepare(&statement).await?;
    for first in (first..=last).step_by(AT_ONCE) {
        let numbers = first..=last.min(first + AT_ONCE - 1);
        let ids: Vec<String> = numbers.clone().map(id).collect();
        let digests: Vec<String> = numbers.map(|number| digest(&well_formed(number))).collect();
        client.execute(&statement, &[&ids, &digests]).await?;
    }
    client.batch_execute("VACUUM ANALYZE api_keys").await
}

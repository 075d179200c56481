//! Databases as another version of Keyward would have left them.

use std::path::Path;

use diesel::connection::{Connection, SimpleConnection};
use diesel::prelude::{QueryableByName, RunQueryDsl, SqliteConnection};
use diesel::sql_types::Text;
use tokio_postgres::NoTls;

use crate::place::Place;
use crate::retention::sql;

/// A migration that this version does not know.
pub(crate) const NEWER: &str = "29991231235959";

#[derive(QueryableByName)]
struct Version {
    #[diesel(sql_type = Text)]
    version: String,
}

/// The migrations of a database, sorted.
pub(crate) async fn applied(place: &Place) -> Vec<String> {
    let mut applied: Vec<String> = match place {
        Place::Server(database) => {
            let (client, connection) = tokio_postgres::connect(database.url(), NoTls).await.unwrap();
            let connection = tokio::spawn(connection);
            let list = "SELECT version FROM __diesel_schema_migrations";
            let rows = client.query(list, &[]).await.unwrap_or_default();
            drop(client);
            connection.await.unwrap().unwrap();
            rows.iter().map(|row| row.get(0)).collect()
        }
        Place::File(directory) => {
            let list = diesel::sql_query("SELECT version FROM __diesel_schema_migrations");
            let rows: Vec<Version> = list.load(&mut connect(directory.path())).unwrap();
            rows.into_iter().map(|row| row.version).collect()
        }
    };
    applied.sort();
    applied
}

/// As an additive migration of a newer version leaves it.
pub(crate) async fn make_newer(place: &Place) {
    let statement = format!("INSERT INTO __diesel_schema_migrations (version) VALUES ('{NEWER}')");
    execute(place, &statement).await;
}

/// As a breaking migration of the newer version leaves it.
pub(crate) async fn break_compatibility(place: &Place) {
    let statement = format!("UPDATE schema_compatibility SET minimum_reader = '{NEWER}'");
    execute(place, &statement).await;
}

/// The newest migration of the version that has [`migrations_to_come`].
pub(crate) const TO_COME: &str = "20990101000000";

/// The folder of what makes the program one of a version to come, which finds databases of this one older
/// than itself.
pub(crate) fn migrations_to_come() -> String {
    format!(
        "{}/../persistence/tests/migrations_to_come",
        env!("CARGO_MANIFEST_DIR")
    )
}

/// As a version from before the first release leaves it.
pub(crate) async fn make_too_old(place: &Place) {
    let statements = "DELETE FROM __diesel_schema_migrations;
        INSERT INTO __diesel_schema_migrations (version) VALUES ('20261121090000'), ('20261122130000');
        UPDATE schema_compatibility SET minimum_reader = '20261122130000'";
    execute(place, statements).await;
}

async fn execute(place: &Place, statements: &str) {
    match place {
        Place::Server(database) => sql(database, statements).await,
        Place::File(directory) => connect(directory.path()).batch_execute(statements).unwrap(),
    }
}

fn connect(directory: &Path) -> SqliteConnection {
    let file = directory.join("keyward.db");
    let mut connection = SqliteConnection::establish(file.to_str().unwrap()).unwrap();
    connection.batch_execute("PRAGMA busy_timeout = 30000").unwrap();
    connection
}

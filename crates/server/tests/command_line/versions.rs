//! Databases as another version of Keyward would have left them.

use std::fs;
use std::path::{Path, PathBuf};

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

/// Takes back the newest migration; the newest one that is left, and the one that was taken back.
pub(crate) async fn make_older(place: &Place) -> (String, String) {
    let folder = match place {
        Place::Server(_) => "postgres",
        Place::File(_) => "sqlite",
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../persistence/migrations")
        .join(folder);
    let mut migrations: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    migrations.sort();
    let newest = migrations.pop().unwrap();
    let version_of = |migration: &Path| {
        let name = migration.file_name().unwrap().to_str().unwrap();
        name.chars()
            .filter(char::is_ascii_digit)
            .take(14)
            .collect::<String>()
    };
    let down = fs::read_to_string(newest.join("down.sql")).unwrap();
    let to = version_of(&newest);
    execute(
        place,
        &format!("{down}; DELETE FROM __diesel_schema_migrations WHERE version = '{to}'"),
    )
    .await;
    (version_of(migrations.last().unwrap()), to)
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

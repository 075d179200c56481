//! A new, migrated database of either kind, and its exports.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::prelude::{Connection, QueryableByName, RunQueryDsl, SqliteConnection};
use diesel::sql_types::Text;
use keyward_persistence::postgres::{MIGRATIONS_KEY, PostgresConfig, PostgresStore};
use keyward_persistence::sqlite::{SqliteConfig, SqliteStore};
use keyward_persistence::transfer::{self, Counts, ExportError, ImportError, Transfer};
use keyward_test_database::TestDatabase;
use tokio_postgres::{Client, NoTls};

/// A database whose tables are empty but for the row of the installation.
pub(crate) struct Database {
    pub(crate) store: Box<dyn Transfer>,
    place: Place,
}

enum Place {
    Server(TestDatabase),
    Directory(PathBuf),
}

impl Database {
    pub(crate) async fn postgres() -> Self {
        let migrate = async |url: String| postgres_store(&url).migrate().await;
        let database = TestDatabase::migrated(MIGRATIONS_KEY, migrate)
            .await
            .expect("a migrated database");
        Self {
            store: Box::new(postgres_store(database.url())),
            place: Place::Server(database),
        }
    }

    pub(crate) async fn sqlite() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("keyward-transfer-{}-{number}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&directory);
        let mut config = SqliteConfig::in_directory(&directory);
        config.busy_timeout = Duration::from_secs(30);
        let store = SqliteStore::open(config).expect("a store");
        store.migrate().await.expect("the schema");
        Self {
            store: Box::new(store),
            place: Place::Directory(directory),
        }
    }

    /// One of each.
    pub(crate) async fn both() -> [Self; 2] {
        [Self::postgres().await, Self::sqlite().await]
    }

    /// The text of a whole export.
    pub(crate) async fn export(&self) -> String {
        let output = Output::default();
        self.export_to(output.clone()).await.expect("an export");
        String::from_utf8(output.bytes()).expect("UTF-8")
    }

    pub(crate) async fn export_to(&self, output: impl Write + Send + 'static) -> Result<Counts, ExportError> {
        transfer::export(&*self.store, output).await
    }

    pub(crate) async fn import(&self, export: impl Into<Vec<u8>>) -> Result<Counts, ImportError> {
        transfer::import(&*self.store, io::Cursor::new(export.into())).await
    }

    /// Runs statements past the store.
    pub(crate) async fn execute(&self, statements: &str) {
        self.try_execute(statements).await.expect(statements);
    }

    /// Likewise; the words with which the database refuses them.
    pub(crate) async fn try_execute(&self, statements: &str) -> Result<(), String> {
        match &self.place {
            Place::Server(database) => {
                let done = client(database).await.batch_execute(statements).await;
                done.map_err(|error| format!("{error:?}"))
            }
            Place::Directory(_) => {
                let done = self.connect().batch_execute(statements);
                done.map_err(|error| error.to_string())
            }
        }
    }

    /// The rows of a query with one column, `text`.
    pub(crate) async fn texts(&self, query: &str) -> Vec<String> {
        match &self.place {
            Place::Server(database) => {
                let rows = client(database).await.query(query, &[]).await.expect(query);
                rows.iter().map(|row| row.get("text")).collect()
            }
            Place::Directory(_) => {
                let rows: Vec<OneText> = diesel::sql_query(query).load(&mut self.connect()).expect(query);
                rows.into_iter().map(|row| row.text).collect()
            }
        }
    }

    /// A connection to the SQLite file.
    fn connect(&self) -> SqliteConnection {
        let Place::Directory(directory) = &self.place else {
            panic!("no file");
        };
        let file = directory.join("keyward.db");
        SqliteConnection::establish(file.to_str().expect("UTF-8")).expect("a connection")
    }

    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self.place, Place::Server(_))
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Place::Directory(directory) = &self.place {
            let _ = fs::remove_dir_all(directory);
        }
    }
}

#[derive(QueryableByName)]
struct OneText {
    #[diesel(sql_type = Text)]
    text: String,
}

async fn client(database: &TestDatabase) -> Client {
    let (client, connection) = tokio_postgres::connect(database.url(), NoTls)
        .await
        .expect("a connection");
    tokio::spawn(connection);
    client
}

fn postgres_store(url: &str) -> PostgresStore {
    let mut config = PostgresConfig::from_url(url).expect("a database URL");
    // For a busy machine: these tests are not about time.
    config.step_timeout = Duration::from_secs(30);
    config.answer_timeout = Duration::from_secs(40);
    PostgresStore::connect(config).expect("a store")
}

/// Keeps what is written.
#[derive(Clone, Default)]
pub(crate) struct Output(Arc<Mutex<Vec<u8>>>);

impl Output {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.lock().expect("no panic").clone()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

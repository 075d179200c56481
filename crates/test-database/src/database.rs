//! A database for one test.

use std::collections::hash_map::DefaultHasher;
use std::error::Error as StdError;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Weak};

use tokio_postgres::Client;

use crate::error::Doing;
use crate::unique::unique_name;
use crate::{Backend, BackendChoice, Error, Server, own_thread};

/// A PostgreSQL database of one test's own, dropped with this value.
///
/// Encoding UTF-8, collation `C`, independent of the server's defaults.
#[derive(Debug)]
pub struct TestDatabase {
    name: String,
    url: String,
    server: Arc<Server>,
}

impl TestDatabase {
    /// An empty database.
    ///
    /// # Errors
    /// [`Error::NoPostgres`] if there is no server, else the server's error.
    pub async fn empty() -> Result<Self, Error> {
        own_thread::run(async || {
            let server = shared_server().await?;
            let client = server.url().connect().await?;
            Self::create(server, &client, &empty_template()).await
        })
        .await
    }

    /// A copy of a template database. If the server has no template for `key` yet, `migrate` creates it.
    ///
    /// `key` identifies what `migrate` does, for example the text of all migrations, and must change with it.
    /// `migrate` receives the URL of an empty database, and runs on a multi-thread runtime of its own. It
    /// runs once per server and key, however many tests and processes ask. If it fails, it leaves no
    /// database.
    ///
    /// # Errors
    /// [`Error::NoPostgres`] if there is no server, [`Error::Migration`] if `migrate` fails, else the
    /// server's error.
    pub async fn migrated<M, E>(key: &str, migrate: M) -> Result<Self, Error>
    where
        M: AsyncFnOnce(String) -> Result<(), E> + Send + 'static,
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        let fingerprint = fingerprint(key);
        own_thread::run(async move || {
            let server = shared_server().await?;
            let client = server.url().connect().await?;
            let template = ensure_template(&server, &client, fingerprint, migrate).await?;
            Self::create(server, &client, &format!("TEMPLATE {template}")).await
        })
        .await
    }

    async fn create(server: Arc<Server>, client: &Client, from: &str) -> Result<Self, Error> {
        let name = unique_name("keyward_test");
        execute(client, &format!("CREATE DATABASE {name} {from}")).await?;
        let url = server.url().of_database(&name);
        Ok(Self { name, url, server })
    }

    /// The URL of the database: `postgres://user:password@host:port/name`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Unique on its server, and needs no quotes in SQL.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How its server is provided.
    #[must_use]
    pub fn backend(&self) -> Backend {
        self.server.backend()
    }

    /// Ends every connection to the database, as a network failure or a restart would. New ones are accepted.
    ///
    /// # Errors
    /// The server's error.
    pub async fn terminate_connections(&self) -> Result<(), Error> {
        self.administer(format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}'",
            self.name
        ))
        .await
    }

    /// Refuses new connections and ends every open one: the database is unavailable until
    /// [`accept_connections`](Self::accept_connections).
    ///
    /// # Errors
    /// The server's error.
    pub async fn refuse_connections(&self) -> Result<(), Error> {
        self.administer(format!("ALTER DATABASE {} ALLOW_CONNECTIONS false", self.name))
            .await?;
        self.terminate_connections().await
    }

    /// Accepts connections again.
    ///
    /// # Errors
    /// The server's error.
    pub async fn accept_connections(&self) -> Result<(), Error> {
        self.administer(format!("ALTER DATABASE {} ALLOW_CONNECTIONS true", self.name))
            .await
    }

    async fn administer(&self, statement: String) -> Result<(), Error> {
        let server = Arc::clone(&self.server);
        own_thread::run(async move || execute(&server.url().connect().await?, &statement).await).await
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let server = Arc::clone(&self.server);
        let statement = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        let dropped =
            own_thread::run_blocking(async move || execute(&server.url().connect().await?, &statement).await);
        if let Err(error) = dropped {
            #[expect(
                clippy::print_stderr,
                reason = "a destructor has no other way to report a failure"
            )]
            {
                eprintln!("test database {} was not dropped: {error}", self.name);
            }
        }
    }
}

/// The server of this process, as long as any of its databases lives.
async fn shared_server() -> Result<Arc<Server>, Error> {
    static SHARED: tokio::sync::Mutex<Weak<Server>> = tokio::sync::Mutex::const_new(Weak::new());
    let mut shared = SHARED.lock().await;
    if let Some(server) = shared.upgrade() {
        return Ok(server);
    }
    let server = Arc::new(Server::started(BackendChoice::Auto).await?);
    *shared = Arc::downgrade(&server);
    Ok(server)
}

/// Makes the template for `fingerprint` if the server has none, and returns its name.
///
/// An advisory lock makes every process of the run wait for the first. The template gets its name only after
/// the migration succeeded, so a half-made one is never cloned.
async fn ensure_template<M, E>(
    server: &Server,
    client: &Client,
    fingerprint: u64,
    migrate: M,
) -> Result<String, Error>
where
    M: AsyncFnOnce(String) -> Result<(), E>,
    E: Into<Box<dyn StdError + Send + Sync>>,
{
    let template = format!("keyward_template_{fingerprint:016x}");
    let lock = fingerprint.cast_signed();
    execute(client, &format!("SELECT pg_advisory_lock({lock})")).await?;
    if !exists(client, &template).await? {
        let unfinished = unique_name("keyward_unfinished");
        execute(
            client,
            &format!("CREATE DATABASE {unfinished} {}", empty_template()),
        )
        .await?;
        if let Err(error) = migrate(server.url().of_database(&unfinished)).await {
            execute(client, &format!("DROP DATABASE {unfinished} WITH (FORCE)")).await?;
            return Err(Error::Migration { source: error.into() });
        }
        // A pool that the migration left behind would make the server refuse to rename and to clone.
        execute(
            client,
            &format!("ALTER DATABASE {unfinished} ALLOW_CONNECTIONS false"),
        )
        .await?;
        execute(
            client,
            &format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{unfinished}'"),
        )
        .await?;
        execute(
            client,
            &format!("ALTER DATABASE {unfinished} RENAME TO {template}"),
        )
        .await?;
    }
    execute(client, &format!("SELECT pg_advisory_unlock({lock})")).await?;
    Ok(template)
}

async fn exists(client: &Client, database: &str) -> Result<bool, Error> {
    let found = client
        .query_opt("SELECT 1 FROM pg_database WHERE datname = $1", &[&database])
        .await;
    Ok(found.doing(|| "list the databases".to_owned())?.is_some())
}

async fn execute(client: &Client, statement: &str) -> Result<(), Error> {
    client
        .batch_execute(statement)
        .await
        .doing(|| statement.to_owned())
}

/// The same encoding and order on every server: an image's defaults differ from a distribution's.
fn empty_template() -> String {
    "TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'".to_owned()
}

/// Names the template and its lock. A collision would need two keys in one run out of 2⁶⁴; another compiler
/// that hashes differently costs one more template.
fn fingerprint(key: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

//! A database that was opened, whose tables may have to be made, upgraded or refused.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use keyward_domain::failure_sentence::sentence;
use keyward_persistence::postgres::{self, PostgresStore};
use keyward_persistence::sqlite::SqliteStore;
use keyward_persistence::{Migrated, SchemaState};
use tokio::time::{Instant, sleep};
use tracing::{info, warn};

use super::configured::Database;
use super::open_error::{CONNECT_TIMEOUT, OpenError};
use super::version_policy::{Tables, refuse_other_versions};
use crate::data_directory::DataDirectoryLock;
use crate::store::Store;

const RETRY_INTERVAL: Duration = Duration::from_millis(250);

/// A store, and the one that may change its tables, if that is another role.
pub(super) enum Opened {
    Postgres {
        store: PostgresStore,
        owner: Option<PostgresStore>,
    },
    Sqlite {
        store: SqliteStore,
        data_directory: PathBuf,
    },
}

impl Opened {
    pub(super) fn of(database: Database) -> Result<Self, OpenError> {
        match database {
            Database::Postgres { service, migrations } => Ok(Self::Postgres {
                store: PostgresStore::connect(*service)?,
                owner: migrations
                    .map(|config| PostgresStore::connect(*config))
                    .transpose()?,
            }),
            Database::Sqlite(config) => {
                DataDirectoryLock::refuse_missing_in_use(&config)?;
                let data_directory = config.data_directory.clone();
                let store = SqliteStore::open(config)?;
                Ok(Self::Sqlite {
                    store,
                    data_directory,
                })
            }
        }
    }

    pub(super) fn of_existing(database: Database) -> Result<Self, OpenError> {
        if let Database::Sqlite(config) = &database {
            config.refuse_left_log()?;
        }
        match database.new_in() {
            Some(directory) => Err(OpenError::NoDatabase { directory }),
            None => Self::of(database),
        }
    }

    /// Acts as the role that owns the tables from now on, if one is configured.
    pub(super) async fn acting_as_owner(self) -> Result<Self, OpenError> {
        match self {
            Self::Postgres {
                store,
                owner: Some(owner),
            } => {
                refuse_other_database(&store, &owner).await?;
                Ok(Self::Postgres {
                    store: owner,
                    owner: None,
                })
            }
            opened @ (Self::Postgres { .. } | Self::Sqlite { .. }) => Ok(opened),
        }
    }

    /// The store, for a command that needs existing data.
    pub(super) async fn used_by(
        self,
        tables: Tables,
        time_budget: Option<Duration>,
    ) -> Result<Arc<dyn Store>, OpenError> {
        let state = self.read_schema_state(time_budget).await?;
        if state == SchemaState::Empty {
            return Err(OpenError::NotSetUp);
        }
        refuse_other_versions(state, tables)?;
        Ok(self.into_store())
    }

    /// Locks a file, so that it is not migrated while a server uses it.
    pub(super) fn data_directory_lock(&self) -> Result<Option<DataDirectoryLock>, OpenError> {
        match self {
            Self::Postgres { .. } => Ok(None),
            Self::Sqlite { data_directory, .. } => Ok(Some(DataDirectoryLock::take(data_directory)?)),
        }
    }

    pub(super) async fn inspect_schema(&self) -> Result<SchemaState, OpenError> {
        self.read_schema_state(Some(CONNECT_TIMEOUT)).await
    }

    async fn read_schema_state(&self, time_budget: Option<Duration>) -> Result<SchemaState, OpenError> {
        match self {
            Self::Postgres { store, .. } if time_budget.is_none() => {
                once_it_answers(time_budget, async || look_unless_all_refuse(store).await).await
            }
            Self::Postgres { store, .. } => {
                once_it_answers(time_budget, async || store.inspect_schema().await).await
            }
            Self::Sqlite { store, .. } => Ok(store.inspect_schema().await?),
        }
    }

    pub(super) async fn make_if_empty(&self, tables: Tables) -> Result<(), OpenError> {
        match self.inspect_schema().await? {
            SchemaState::Empty => self.migrate().await.map(drop),
            state => Ok(refuse_other_versions(state, tables)?),
        }
    }

    /// Migrates the tables. The service's own role may lack the right to change tables and audit events. Then
    /// another role migrates the database, and is not used for anything else.
    pub(super) async fn migrate(&self) -> Result<Migrated, OpenError> {
        match self {
            Self::Postgres { store, owner } => {
                let by_owner = match owner {
                    Some(owner) => {
                        refuse_other_database(store, owner).await?;
                        once_it_answers(Some(CONNECT_TIMEOUT), async || owner.migrate().await).await?
                    }
                    None => Migrated::Nothing,
                };
                let migrated = once_it_answers(Some(CONNECT_TIMEOUT), async || store.migrate().await).await?;
                Ok(if migrated == Migrated::Nothing {
                    by_owner
                } else {
                    migrated
                })
            }
            Self::Sqlite { store, .. } => Ok(store.migrate().await?),
        }
    }

    pub(super) fn into_store(self) -> Arc<dyn Store> {
        match self {
            Self::Postgres { store, .. } => Arc::new(store),
            Self::Sqlite { store, .. } => Arc::new(store),
        }
    }
}

/// The two URLs may come from different places, such as a flag and a variable. A migration of another
/// database could not be undone.
async fn refuse_other_database(store: &PostgresStore, owner: &PostgresStore) -> Result<(), OpenError> {
    let identity = async |store: &PostgresStore| {
        once_it_answers(Some(CONNECT_TIMEOUT), async || store.identity().await).await
    };
    let ((name, cluster), (owned, owners)) = (identity(store).await?, identity(owner).await?);
    // Either role may be refused to say which cluster it is.
    let is_same_cluster = cluster == owners || cluster == 0 || owners == 0;
    if name == owned && is_same_cluster {
        Ok(())
    } else {
        Err(OpenError::OwnerOfAnother)
    }
}

/// For commands that wait without end: of several servers one may refuse while the one that would accept is
/// away.
async fn look_unless_all_refuse(store: &PostgresStore) -> Result<SchemaState, postgres::MigrateError> {
    match store.inspect_schema().await {
        Err(postgres::MigrateError::Refused(refusal)) => Err(match store.refusal().await {
            Some(refusal) => refusal.into(),
            None => postgres::MigrateError::Unavailable(Box::new(refusal)),
        }),
        looked => looked,
    }
}

/// Retries until the database server answers or the timeout is over: it may have been started together with
/// this process.
async fn once_it_answers<T>(
    time_budget: Option<Duration>,
    ask: impl AsyncFn() -> Result<T, postgres::MigrateError>,
) -> Result<T, OpenError> {
    let begun = Instant::now();
    let is_over = || time_budget.is_some_and(|time_budget| begun.elapsed() >= time_budget);
    let mut has_waited = false;
    loop {
        match ask().await {
            Ok(answer) => return Ok(answer),
            Err(error @ postgres::MigrateError::Unavailable(_)) if is_over() => {
                return Err(OpenError::Unavailable(error));
            }
            Err(error @ postgres::MigrateError::Unavailable(_)) => {
                match time_budget {
                    _ if has_waited => {}
                    // It succeeds or fails soon, and reports that.
                    Some(_) => info!(cause = sentence(&error), "waiting for the database"),
                    None => warn!(cause = sentence(&error), "waiting for the database"),
                }
                has_waited = true;
                sleep(RETRY_INTERVAL).await;
            }
            Err(error) => return Err(OpenError::Migrate(error)),
        }
    }
}

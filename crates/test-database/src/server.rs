//! One PostgreSQL server for the tests, from the first backend that is available.

use std::env;
use std::path::Path;

use crate::cluster::Cluster;
use crate::{Backend, BackendChoice, Error, ServerUrl, own_thread};

/// The variable that names a server which runs already.
const URL_VARIABLE: &str = "TEST_DATABASE_URL";

/// A server that lives until it is dropped, unless it was there before.
#[derive(Debug)]
pub struct Server {
    url: ServerUrl,
    backend: Backend,
    obstacles: Vec<(Backend, String)>,
    _keeper: Keeper,
}

/// Ends the server when it is dropped.
#[derive(Debug)]
enum Keeper {
    /// The server was running already.
    External,
    #[cfg(feature = "containers")]
    Container {
        _container: crate::container::Container,
    },
    Cluster {
        _cluster: Cluster,
    },
}

impl Server {
    /// Starts a server, or finds the one that `TEST_DATABASE_URL` names. Blocks until it answers.
    ///
    /// # Errors
    /// [`Error::NoPostgres`] when no backend of `choice` is available; [`Error::BadUrl`] and
    /// [`Error::Database`] when `TEST_DATABASE_URL` is set and no server answers there.
    pub fn start(choice: BackendChoice) -> Result<Self, Error> {
        own_thread::run_blocking(async move || Self::started(choice).await)
    }

    /// Starts a private cluster whose data stays in `folder` and is found there again. `settings` of the
    /// server, as `name=value`, go before those in its files.
    ///
    /// # Errors
    /// [`Error::NoPostgres`] when the cluster does not start.
    pub fn start_kept(folder: &Path, settings: &[&str]) -> Result<Self, Error> {
        let folder = folder.to_owned();
        let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
        own_thread::run_blocking(async move || {
            Self::with_cluster(Cluster::kept(&folder, &settings).await, Vec::new())
        })
    }

    pub(crate) async fn started(choice: BackendChoice) -> Result<Self, Error> {
        let mut tried = Vec::new();
        if choice == BackendChoice::Auto {
            match env::var(URL_VARIABLE) {
                Ok(url) => return Self::at(ServerUrl::parse(&url)?).await,
                Err(_) => tried.push((Backend::Url, "not set".to_owned())),
            }
        }
        if choice != BackendChoice::Cluster {
            match Self::in_container().await {
                Ok((url, keeper)) => {
                    return Ok(Self {
                        url,
                        backend: Backend::Container,
                        obstacles: tried,
                        _keeper: keeper,
                    });
                }
                Err(obstacle) => tried.push((Backend::Container, obstacle)),
            }
        }
        if choice == BackendChoice::Containers {
            return Err(Error::NoPostgres { tried });
        }
        Self::with_cluster(Cluster::temporary().await, tried)
    }

    async fn at(url: ServerUrl) -> Result<Self, Error> {
        url.connect().await?;
        Ok(Self {
            url,
            backend: Backend::Url,
            obstacles: Vec::new(),
            _keeper: Keeper::External,
        })
    }

    #[cfg(feature = "containers")]
    async fn in_container() -> Result<(ServerUrl, Keeper), String> {
        let container = crate::container::Container::start().await?;
        Ok((
            container.url().clone(),
            Keeper::Container {
                _container: container,
            },
        ))
    }

    #[cfg(not(feature = "containers"))]
    #[expect(clippy::unused_async, reason = "the same signature as with the feature")]
    async fn in_container() -> Result<(ServerUrl, Keeper), String> {
        Err("this build is without the feature `containers`".to_owned())
    }

    fn with_cluster(
        started: Result<Cluster, String>,
        mut tried: Vec<(Backend, String)>,
    ) -> Result<Self, Error> {
        match started {
            Ok(cluster) => Ok(Self {
                url: cluster.url().clone(),
                backend: Backend::Cluster,
                obstacles: tried,
                _keeper: Keeper::Cluster { _cluster: cluster },
            }),
            Err(obstacle) => {
                tried.push((Backend::Cluster, obstacle));
                Err(Error::NoPostgres { tried })
            }
        }
    }

    /// Where the server is, as a role that may do everything.
    #[must_use]
    pub fn url(&self) -> &ServerUrl {
        &self.url
    }

    /// The backend that provides it.
    #[must_use]
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// The backends that were tried before it, each with why it failed.
    #[must_use]
    pub fn obstacles(&self) -> &[(Backend, String)] {
        &self.obstacles
    }
}

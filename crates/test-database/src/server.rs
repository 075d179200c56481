//! One PostgreSQL server for the tests, and the roads to it.

use std::env;
use std::path::Path;

use crate::cluster::Cluster;
use crate::{Error, Road, RoadChoice, ServerUrl, own_thread};

/// The variable that names a server which runs already.
const URL_VARIABLE: &str = "TEST_DATABASE_URL";

/// A server that lives until it is dropped, unless it was there before.
#[derive(Debug)]
pub struct Server {
    url: ServerUrl,
    road: Road,
    obstacles: Vec<(Road, String)>,
    _keeper: Keeper,
}

/// What ends the server when it is dropped.
#[derive(Debug)]
enum Keeper {
    Nobody,
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
    /// [`Error::NoRoad`] when no road of `choice` leads to one; [`Error::BadUrl`] and [`Error::Database`] when
    /// `TEST_DATABASE_URL` is set and no server answers there.
    pub fn start(choice: RoadChoice) -> Result<Self, Error> {
        own_thread::run_blocking(async move || Self::started(choice).await)
    }

    /// Starts a private cluster whose data stays in `folder` and is found there again.
    ///
    /// # Errors
    /// [`Error::NoRoad`] when the cluster does not start.
    pub fn start_kept(folder: &Path) -> Result<Self, Error> {
        let folder = folder.to_owned();
        own_thread::run_blocking(async move || Self::with_cluster(Cluster::kept(&folder).await, Vec::new()))
    }

    pub(crate) async fn started(choice: RoadChoice) -> Result<Self, Error> {
        let mut tried = Vec::new();
        if choice == RoadChoice::Auto {
            match env::var(URL_VARIABLE) {
                Ok(url) => return Self::at(ServerUrl::parse(&url)?).await,
                Err(_) => tried.push((Road::Url, "not set".to_owned())),
            }
        }
        if choice != RoadChoice::Cluster {
            match Self::in_container().await {
                Ok((url, keeper)) => {
                    return Ok(Self {
                        url,
                        road: Road::Container,
                        obstacles: tried,
                        _keeper: keeper,
                    });
                }
                Err(obstacle) => tried.push((Road::Container, obstacle)),
            }
        }
        if choice == RoadChoice::Containers {
            return Err(Error::NoRoad { tried });
        }
        Self::with_cluster(Cluster::temporary().await, tried)
    }

    async fn at(url: ServerUrl) -> Result<Self, Error> {
        url.connect().await?;
        Ok(Self {
            url,
            road: Road::Url,
            obstacles: Vec::new(),
            _keeper: Keeper::Nobody,
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

    fn with_cluster(started: Result<Cluster, String>, mut tried: Vec<(Road, String)>) -> Result<Self, Error> {
        match started {
            Ok(cluster) => Ok(Self {
                url: cluster.url().clone(),
                road: Road::Cluster,
                obstacles: tried,
                _keeper: Keeper::Cluster { _cluster: cluster },
            }),
            Err(obstacle) => {
                tried.push((Road::Cluster, obstacle));
                Err(Error::NoRoad { tried })
            }
        }
    }

    /// Where the server is, as a role that may do everything.
    #[must_use]
    pub fn url(&self) -> &ServerUrl {
        &self.url
    }

    /// The road that was taken.
    #[must_use]
    pub fn road(&self) -> Road {
        self.road
    }

    /// The roads that come before it, each with what was in its way.
    #[must_use]
    pub fn obstacles(&self) -> &[(Road, String)] {
        &self.obstacles
    }
}

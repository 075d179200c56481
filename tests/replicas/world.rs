//! Three servers over one database, each behind a network of its own.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::clients::Clients;
use crate::installation::{Installation, url};
use crate::pooler::Pooler;
use crate::proxy::Proxy;
use crate::replica::{Clock, Replica};

pub(crate) const SERVERS: usize = 3;

/// The parts that a scenario breaks.
pub(crate) struct World<'i> {
    pub(crate) installation: &'i mut Installation,
    pub(crate) replicas: Vec<Replica>,
    pub(crate) proxies: Vec<Proxy>,
    pub(crate) clients: Arc<Clients>,
    pub(crate) database: String,
    /// Ends with the rest.
    _pooler: Option<Pooler>,
}

impl<'i> World<'i> {
    /// A new database, and three servers with these clocks that are ready, behind a pooler or not.
    pub(crate) async fn begin(
        installation: &'i mut Installation,
        name: &str,
        clocks: [Clock; SERVERS],
        is_pooled: bool,
    ) -> Self {
        let database = installation.database().await;
        let mut address = installation.cluster.address();
        let pooler = is_pooled.then(|| Pooler::before(address, installation.folder.path()));
        if let Some(pooler) = &pooler {
            address = pooler.until_ready(&database).await;
        }
        let mut proxies = Vec::new();
        for _ in 0..SERVERS {
            proxies.push(Proxy::begin(address).await);
        }
        let urls = proxies.iter().map(|proxy| url(proxy.address(), &database));
        let replicas = start(installation, name, clocks, urls.collect()).await;
        let servers: Vec<SocketAddr> = replicas.iter().map(Replica::address).collect();
        let clients = Arc::new(Clients::of(servers, Arc::clone(&installation.keys)));
        Self {
            installation,
            replicas,
            proxies,
            clients,
            database,
            _pooler: pooler,
        }
    }

    /// Whether revocations were written with the clocks that their servers were to have.
    pub(crate) async fn check_clocks(&self, clocks: [Clock; SERVERS]) {
        if clocks == [Clock::Right; SERVERS] {
            return;
        }
        let client = self.installation.cluster.administrator(&self.database).await;
        let apart = "SELECT max(revoked_at) - min(revoked_at) > '119 minutes' FROM api_keys";
        let row = client.query_one(apart, &[]).await.expect("the revoked keys");
        assert!(row.get::<_, bool>(0), "the servers' clocks were not apart");
    }
}

async fn start(
    installation: &Installation,
    name: &str,
    clocks: [Clock; SERVERS],
    database_urls: Vec<String>,
) -> Vec<Replica> {
    let mut replicas = Vec::new();
    for (number, (url, clock)) in database_urls.into_iter().zip(clocks).enumerate() {
        let log = installation.folder.path().join(format!("{name}-{number}.log"));
        replicas.push(Replica::start(url, clock, log).await);
    }
    replicas
}

//! Three servers over one database, each behind a network of its own.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::clients::Clients;
use crate::installation::{Installation, url};
use crate::proxy::Proxy;
use crate::replica::Replica;

pub(crate) const SERVERS: usize = 3;

/// What a scenario breaks.
pub(crate) struct World<'i> {
    pub(crate) installation: &'i mut Installation,
    pub(crate) replicas: Vec<Replica>,
    pub(crate) proxies: Vec<Proxy>,
    pub(crate) clients: Arc<Clients>,
}

impl<'i> World<'i> {
    /// A new database, and three servers that are ready.
    pub(crate) async fn begin(installation: &'i mut Installation, name: &str, arguments: &[&str]) -> Self {
        let database = installation.database().await;
        let mut proxies = Vec::new();
        for _ in 0..SERVERS {
            proxies.push(Proxy::begin(installation.cluster.address()).await);
        }
        let urls = proxies.iter().map(|proxy| url(proxy.address(), &database));
        let replicas = start(installation, name, arguments, urls.collect()).await;
        let servers: Vec<SocketAddr> = replicas.iter().map(Replica::address).collect();
        let clients = Arc::new(Clients::of(servers, Arc::clone(&installation.keys)));
        Self {
            installation,
            replicas,
            proxies,
            clients,
        }
    }
}

async fn start(
    installation: &Installation,
    name: &str,
    arguments: &[&str],
    database_urls: Vec<String>,
) -> Vec<Replica> {
    let mut replicas = Vec::new();
    for (number, url) in database_urls.into_iter().enumerate() {
        let log = installation.folder.path().join(format!("{name}-{number}.log"));
        replicas.push(Replica::start(url, arguments, log).await);
    }
    replicas
}

//! The clients for which the store works.

use std::net::{IpAddr, Ipv6Addr};

use keyward_domain::audit::Actor;
use tokio::task_local;
use uuid::Uuid;

task_local! {
    static CLIENT: Client;
}

/// A client, among which the store divides its connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Client {
    /// Work that no request waits for, such as a job's; all of it counts as one client.
    #[default]
    Background,
    At(IpAddr),
    /// Work that requests of several clients wait for together.
    Several,
    /// All who sign in from browsers that are not remembered for the account.
    Strangers,
    /// Lookups of credentials, which several clients ask for together.
    Lookups,
    /// An actor, at any address.
    Actor(Uuid),
}

impl Client {
    /// An IPv6 client is its /64 network, all of which one person may have.
    fn at(address: IpAddr) -> Self {
        Self::At(match address.to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
            address @ IpAddr::V4(_) => address,
        })
    }

    /// A person or a key, which is one client at all its addresses; any other actor is the current client.
    pub(crate) fn of_actor(actor: &Actor) -> Self {
        match actor {
            Actor::User(user) => Self::Actor(user.as_uuid()),
            Actor::ApiKey(key) => Self::Actor(key.as_uuid()),
            Actor::Administrator | Actor::System | Actor::Anonymous => Self::current(),
        }
    }

    /// The client of the work that runs now.
    pub(crate) fn current() -> Self {
        CLIENT.try_with(|client| *client).unwrap_or_default()
    }

    /// The store counts the requests of `work` as this client's, but not those of tasks that it spawns.
    pub(crate) fn run<W: Future>(self, work: W) -> impl Future<Output = W::Output> {
        CLIENT.scope(self, work)
    }
}

/// Runs work for the client at this address: while several clients wait for a connection to the database,
/// each gets its share, however many requests one of them sends.
pub fn on_behalf_of<W: Future>(address: Option<IpAddr>, work: W) -> impl Future<Output = W::Output> {
    // Not an `async fn`, which would hold the work twice, and all of it is copied with the future of each
    // request.
    address.map_or_else(Client::default, Client::at).run(work)
}

/// Runs work that requests of several clients wait for together, with a share of its own. A task that is
/// spawned without this counts as background work.
pub fn on_behalf_of_several_clients<W: Future>(work: W) -> impl Future<Output = W::Output> {
    Client::Several.run(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv6_network_is_one_client_but_ipv4_addresses_are_several() {
        let client = |address: &str| Client::at(address.parse().unwrap());
        assert_eq!(client("2001:db8::1"), client("2001:db8::ffff:0:0:2"));
        assert_ne!(client("2001:db8::1"), client("2001:db8:0:1::1"));
        assert_eq!(client("::ffff:192.0.2.1"), client("192.0.2.1"));
        assert_ne!(client("192.0.2.1"), client("192.0.2.2"));
    }

    #[tokio::test]
    async fn work_is_for_the_client_of_its_request() {
        assert_eq!(Client::current(), Client::Background);
        let address = "192.0.2.1".parse().unwrap();
        let work = async || {
            let for_many = tokio::spawn(on_behalf_of_several_clients(async { Client::current() }));
            (Client::current(), for_many.await.unwrap())
        };
        let seen = on_behalf_of(Some(address), work()).await;
        assert_eq!(seen, (Client::At(address), Client::Several));
    }
}

//! For which client the store works.

use std::net::{IpAddr, Ipv6Addr};

use tokio::task_local;

task_local! {
    static CLIENT: Client;
}

/// A client, among which the store divides its connections. Work for nobody, such as a job's, counts as one client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Client(Option<IpAddr>);

impl Client {
    /// An IPv6 client is its /64 network, all of which one person may have.
    fn at(address: IpAddr) -> Self {
        Self(Some(match address.to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
            address @ IpAddr::V4(_) => address,
        }))
    }

    /// The client of the work that runs now.
    pub(crate) fn current() -> Self {
        CLIENT.try_with(|client| *client).unwrap_or_default()
    }

    /// Runs work for this client.
    pub(crate) fn run<W: Future>(self, work: W) -> impl Future<Output = W::Output> {
        CLIENT.scope(self, work)
    }
}

/// Runs work for the client at this address: while others wait for a connection to the database, too, each client
/// receives its share, however much one of them asks for.
pub async fn on_behalf_of<W: Future>(address: Option<IpAddr>, work: W) -> W::Output {
    match address {
        Some(address) => Client::at(address).run(work).await,
        None => work.await,
    }
}

/// Work for the client of the work that runs now. A task that is spawned without this works for nobody.
pub fn for_current_client<W: Future>(work: W) -> impl Future<Output = W::Output> {
    Client::current().run(work)
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
        assert_eq!(Client::current(), Client(None));
        let address = Some("192.0.2.1".parse().unwrap());
        let seen = on_behalf_of(address, async { Client::current() }).await;
        assert_eq!(seen, Client(address));
        let spawned = on_behalf_of(address, async {
            tokio::spawn(for_current_client(async { Client::current() })).await
        });
        assert_eq!(spawned.await.unwrap(), Client(address));
    }
}

//! A limit on how many of GitHub's reports that are larger than other bodies are handled at once.

use keyward_rate_limits::ClientNetwork;
use parking_lot::Mutex;

/// The maximum for all clients. It bounds the memory, because a body is read before its signature is checked.
const AT_ONCE: usize = 16;

/// The maximum for one client, so that a client that sends slowly leaves room for others.
const OF_ONE_CLIENT: usize = 2;

/// The clients whose large reports are being handled, each once for each report.
#[derive(Default)]
pub(crate) struct LargeReports(Mutex<Vec<Option<ClientNetwork>>>);

/// Room for one large report, given back when dropped.
pub(crate) struct Room<'a> {
    reports: &'a LargeReports,
    client: Option<ClientNetwork>,
}

impl LargeReports {
    /// Room for a report of this client, if there is any. Clients without an address count as one.
    pub(crate) fn room(&self, client: Option<ClientNetwork>) -> Option<Room<'_>> {
        let mut clients = self.0.lock();
        let of_client = clients.iter().filter(|other| **other == client).count();
        if clients.len() >= AT_ONCE || of_client >= OF_ONE_CLIENT {
            return None;
        }
        clients.push(client);
        Some(Room {
            reports: self,
            client,
        })
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        let mut clients = self.reports.0.lock();
        if let Some(one) = clients.iter().position(|client| *client == self.client) {
            clients.swap_remove(one);
        }
    }
}

//! What happens to the servers, and what their clients may see of it.

use std::time::Duration;

use tokio::time::sleep;

use crate::bounds::{HEALTHY_REVOCATIONS, RECOVERY, Watched};
use crate::installation::Installation;
use crate::traffic::Traffic;
use crate::world::World;

/// How long everything is well before the fault, and after the recovery.
const AROUND: Duration = Duration::from_millis(1_500);

/// A round trip that leaves a pool of connections time for the verifications of a server.
const SLOW: Duration = Duration::from_millis(50);

const EVERYBODY: &[usize] = &[0, 1, 2];
const NOBODY: &[usize] = &[];
/// Whom it happens to when it happens to one.
const ONE: usize = 1;

/// What fails while clients verify and revoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// Nothing.
    Healthy,
    /// One server hears nothing from the database any more, and its connections stay open.
    OneCutOff,
    /// One server gets no processor for longer than its lease.
    OneStopped,
    /// One server ends without warning.
    OneKilled,
    /// The database is stopped.
    DatabaseStopped,
    /// No server hears from the database.
    DatabaseCutOff,
    /// Every answer of the database comes late.
    DatabaseSlow,
}

impl Scenario {
    pub(crate) const ALL: [Self; 7] = [
        Self::Healthy,
        Self::OneCutOff,
        Self::OneStopped,
        Self::OneKilled,
        Self::DatabaseStopped,
        Self::DatabaseCutOff,
        Self::DatabaseSlow,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::OneCutOff => "one-cut-off",
            Self::OneStopped => "one-stopped",
            Self::OneKilled => "one-killed",
            Self::DatabaseStopped => "database-stopped",
            Self::DatabaseCutOff => "database-cut-off",
            Self::DatabaseSlow => "database-slow",
        }
    }

    /// Plays it, while clients watch.
    pub(crate) async fn play(self, installation: &mut Installation) -> Watched {
        let mut world = World::begin(installation, self.name(), &[]).await;
        let clients = world.clients.clone();
        let traffic = Traffic::begin(&clients, self.revoke_every());
        sleep(AROUND).await;
        let fault_begin = clients.now();
        self.begin_fault(&mut world).await;
        sleep(self.lasts()).await;
        let return_begin = clients.now();
        // What is brought back may take a while to come.
        self.end_fault(&mut world).await;
        let fault_end = clients.now();
        if self != Self::Healthy {
            sleep(RECOVERY + AROUND).await;
        }
        let (revoked, disagreed) = traffic.finish().await;
        Watched {
            requests: clients.take_requests(),
            fault_begin,
            return_begin,
            fault_end,
            revoked,
            disagreed,
        }
    }

    const fn revoke_every(self) -> Duration {
        Duration::from_millis(match self {
            Self::Healthy => 60,
            _ => 150,
        })
    }

    /// How long it lasts: longer than a lease.
    fn lasts(self) -> Duration {
        match self {
            Self::Healthy => self.revoke_every() * HEALTHY_REVOCATIONS - AROUND,
            _ => Duration::from_millis(7_500),
        }
    }

    async fn begin_fault(self, world: &mut World<'_>) {
        match self {
            Self::Healthy => {}
            Self::OneCutOff => world.proxies[ONE].cut(),
            Self::OneStopped => world.replicas[ONE].stop(),
            Self::OneKilled => world.replicas[ONE].kill().await,
            Self::DatabaseStopped => world.installation.cluster.stop(),
            Self::DatabaseCutOff => world.proxies.iter().for_each(|proxy| proxy.cut()),
            Self::DatabaseSlow => world.proxies.iter().for_each(|proxy| proxy.delay(SLOW)),
        }
    }

    async fn end_fault(self, world: &mut World<'_>) {
        match self {
            Self::Healthy => {}
            Self::OneCutOff => world.proxies[ONE].mend(),
            Self::OneStopped => world.replicas[ONE].go_on(),
            Self::OneKilled => world.replicas[ONE].restart().await,
            Self::DatabaseStopped => {
                let cluster = &mut world.installation.cluster;
                cluster.start(&[]);
                let address = cluster.address();
                world.proxies.iter().for_each(|proxy| proxy.lead_to(address));
            }
            Self::DatabaseCutOff => world.proxies.iter().for_each(|proxy| proxy.mend()),
            Self::DatabaseSlow => world.proxies.iter().for_each(|proxy| proxy.delay(Duration::ZERO)),
        }
    }

    /// The servers that are not there.
    pub(crate) const fn absent(self) -> &'static [usize] {
        match self {
            Self::OneStopped | Self::OneKilled => &[ONE],
            _ => NOBODY,
        }
    }

    /// The servers that are there and have no database.
    pub(crate) const fn without_database(self) -> &'static [usize] {
        match self {
            Self::Healthy | Self::OneStopped | Self::OneKilled | Self::DatabaseSlow => NOBODY,
            Self::OneCutOff => &[ONE],
            Self::DatabaseStopped | Self::DatabaseCutOff => EVERYBODY,
        }
    }

    /// On which servers verifications may fail.
    pub(crate) const fn may_not_verify(self) -> &'static [usize] {
        match self {
            Self::Healthy => NOBODY,
            Self::OneCutOff | Self::OneStopped | Self::OneKilled => &[ONE],
            Self::DatabaseStopped | Self::DatabaseCutOff | Self::DatabaseSlow => EVERYBODY,
        }
    }

    /// On which servers revocations may fail. A transaction that is cut off keeps its locks for a while.
    pub(crate) const fn may_not_revoke(self) -> &'static [usize] {
        match self {
            Self::Healthy => NOBODY,
            Self::OneStopped | Self::OneKilled => &[ONE],
            Self::OneCutOff | Self::DatabaseStopped | Self::DatabaseCutOff | Self::DatabaseSlow => EVERYBODY,
        }
    }
}

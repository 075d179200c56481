//! The faults of servers, network and database, and their allowed effects on clients.

use std::time::Duration;

use clap::ValueEnum;
use tokio::time::sleep;

use crate::bounds::{HEALTHY_REVOCATIONS, RECOVERY, Watched};
use crate::installation::Installation;
use crate::pressure::Pressure;
use crate::replica::Clock;
use crate::standby::Standby;
use crate::traffic::Traffic;
use crate::world::{SERVERS, World};

/// How long everything is well before the fault, while servers warm up, and after the recovery.
const AROUND: Duration = Duration::from_millis(1_500);

/// A round trip that leaves a pool of connections time for the verifications of a server.
const SLOW: Duration = Duration::from_millis(50);

/// How late a lookup is whose key is revoked meanwhile: less than would fill all connections.
const LATE: Duration = Duration::from_millis(100);

/// For how long a standby gets nothing before it is promoted.
const BEHIND: Duration = Duration::from_millis(800);

const ALL_REPLICAS: &[usize] = &[0, 1, 2];
const NO_REPLICA: &[usize] = &[];
/// The server that is hit by faults of a single server.
const ONE: usize = 1;

/// The fault that is injected while clients verify and revoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    /// Nothing.
    Healthy,
    /// One server receives nothing from the database any more, and its connections stay open.
    OneCutOff,
    /// One server gets no processor for longer than its lease.
    OneStopped,
    /// One server ends without warning.
    OneKilled,
    /// The database is stopped.
    DatabaseStopped,
    /// No server receives anything from the database.
    DatabaseCutOff,
    /// Every answer of the database comes late.
    DatabaseSlow,
    /// Others have all connections that the database allows.
    DatabaseExhausted,
    /// The connections on which servers get notifications of changes end repeatedly.
    NotificationsKilled,
    /// The connection on which one server gets notifications of changes stays open, but passes nothing on.
    NotificationsSilent,
    /// As `NotificationsSilent`, and the connections that replace it pass nothing on either.
    NotificationsBlocked,
    /// One clock is an hour fast, another an hour slow.
    ClocksApart,
    /// On one server, the answers to lookups are delayed, but not the notifications of changes.
    LookupsSlow,
    /// Between servers and database is a pooler in session mode.
    Pooled,
    /// The database falls back to a standby with synchronous replication, which has lagged behind.
    Failover,
}

impl Scenario {
    /// How the command line names it.
    pub(crate) fn name(self) -> String {
        let named = self.to_possible_value().expect("every scenario can be given");
        named.get_name().to_owned()
    }

    /// Plays it, while clients watch.
    pub(crate) async fn play(self, installation: &mut Installation) -> Watched {
        let mut world = World::begin(installation, &self.name(), self.clocks(), self == Self::Pooled).await;
        let clients = world.clients.clone();
        let traffic = Traffic::begin(&clients, self.revoke_every(), self.verified_ahead());
        sleep(AROUND).await;
        let fault_begin = clients.now();
        let ending = self.begin_fault(&mut world).await;
        let fault_came = clients.now();
        sleep(self.lasts()).await;
        let return_begin = clients.now();
        // A restored part may take a while to start.
        self.end_fault(&mut world, ending).await;
        let fault_end = clients.now();
        if !self.breaks_nothing() {
            sleep(RECOVERY + AROUND).await;
        }
        let (revoked, disagreed) = traffic.finish().await;
        world.check_clocks(self.clocks()).await;
        Watched {
            requests: clients.take_requests(),
            fault_begin,
            fault_came,
            return_begin,
            fault_end,
            revoked,
            disagreed,
        }
    }

    /// For each server, the error of its clock.
    const fn clocks(self) -> [Clock; SERVERS] {
        match self {
            Self::ClocksApart => [Clock::Right, Clock::HourFast, Clock::HourSlow],
            _ => [Clock::Right; SERVERS],
        }
    }

    /// Whether there is nothing to recover from: servers and database are well, or well at once.
    const fn breaks_nothing(self) -> bool {
        matches!(
            self,
            Self::Healthy
                | Self::NotificationsKilled
                | Self::NotificationsSilent
                | Self::ClocksApart
                | Self::LookupsSlow
                | Self::Pooled
        )
    }

    /// How many of the keys that are revoked next are verified already: one, for lookups that are under way
    /// when their key is revoked.
    const fn verified_ahead(self) -> usize {
        match self {
            Self::LookupsSlow => 1,
            _ => 12,
        }
    }

    const fn revoke_every(self) -> Duration {
        Duration::from_millis(match self {
            Self::Healthy => 60,
            // Changes of one consumer wait for each other, and each takes several round trips.
            Self::DatabaseSlow => 450,
            Self::LookupsSlow => 250,
            _ => 150,
        })
    }

    /// How long it lasts: longer than a lease.
    fn lasts(self) -> Duration {
        match self {
            // A busy machine misses some of the times at which to revoke.
            Self::Healthy => self.revoke_every() * (HEALTHY_REVOCATIONS + 20),
            Self::NotificationsKilled | Self::ClocksApart | Self::Pooled => Duration::from_millis(4_000),
            Self::NotificationsSilent | Self::LookupsSlow => Duration::from_millis(6_000),
            Self::Failover => Duration::from_millis(1_000),
            _ => Duration::from_millis(7_500),
        }
    }

    /// Returns a fault that continues until it is dropped.
    async fn begin_fault(self, world: &mut World<'_>) -> Option<Pressure> {
        match self {
            Self::Healthy | Self::ClocksApart | Self::Pooled => {}
            Self::OneCutOff => world.proxies[ONE].cut(),
            Self::OneStopped => world.replicas[ONE].stop(),
            Self::OneKilled => world.replicas[ONE].kill().await,
            Self::DatabaseStopped => world.installation.cluster.stop(),
            Self::DatabaseCutOff => world.proxies.iter().for_each(|proxy| proxy.cut()),
            Self::DatabaseSlow => world.proxies.iter().for_each(|proxy| proxy.delay(SLOW)),
            Self::DatabaseExhausted => return Some(Pressure::exhaust(&world.installation.cluster).await),
            Self::NotificationsKilled => {
                return Some(Pressure::kill_listeners(&world.installation.cluster).await);
            }
            Self::NotificationsSilent => world.proxies[ONE].silence_listeners(),
            Self::NotificationsBlocked => world.proxies[ONE].silence_every_listener(),
            Self::LookupsSlow => world.proxies[ONE].delay_lookups(LATE),
            Self::Failover => {
                let standby = Standby::of(&world.installation.cluster, &world.database).await;
                sleep(AROUND).await;
                standby.fall_behind();
                sleep(BEHIND).await;
                world.installation.cluster.crash();
                return Some(Pressure::Standby(Box::new(standby)));
            }
        }
        None
    }

    async fn end_fault(self, world: &mut World<'_>, ending: Option<Pressure>) {
        match self {
            Self::Healthy | Self::ClocksApart | Self::Pooled => {}
            Self::OneCutOff | Self::NotificationsSilent | Self::NotificationsBlocked => {
                world.proxies[ONE].mend();
            }
            Self::OneStopped => world.replicas[ONE].go_on(),
            Self::OneKilled => world.replicas[ONE].restart().await,
            Self::DatabaseStopped => {
                let cluster = &mut world.installation.cluster;
                cluster.start(&[]);
                let address = cluster.address();
                world.proxies.iter().for_each(|proxy| proxy.lead_to(address));
            }
            Self::DatabaseCutOff => world.proxies.iter().for_each(|proxy| proxy.mend()),
            Self::DatabaseSlow | Self::LookupsSlow => {
                world.proxies.iter().for_each(|proxy| proxy.delay(Duration::ZERO));
            }
            Self::DatabaseExhausted | Self::NotificationsKilled => {}
            Self::Failover => {
                let Some(Pressure::Standby(standby)) = ending else {
                    panic!("a failover needs a standby");
                };
                world.installation.cluster = standby.promote().await;
                let address = world.installation.cluster.address();
                world.proxies.iter().for_each(|proxy| proxy.lead_to(address));
                return;
            }
        }
        if let Some(ending) = ending {
            ending.end().await;
        }
    }

    /// The servers that are not there.
    pub(crate) const fn absent(self) -> &'static [usize] {
        match self {
            Self::OneStopped | Self::OneKilled => &[ONE],
            _ => NO_REPLICA,
        }
    }

    /// The running servers that have no database.
    pub(crate) const fn without_database(self) -> &'static [usize] {
        match self {
            Self::OneCutOff => &[ONE],
            Self::DatabaseStopped | Self::DatabaseCutOff | Self::DatabaseExhausted => ALL_REPLICAS,
            _ => NO_REPLICA,
        }
    }

    /// On which servers verifications may fail.
    pub(crate) const fn may_not_verify(self) -> &'static [usize] {
        match self {
            Self::Healthy
            | Self::DatabaseSlow
            | Self::NotificationsKilled
            | Self::NotificationsSilent
            | Self::NotificationsBlocked
            | Self::ClocksApart
            | Self::LookupsSlow
            | Self::Pooled => NO_REPLICA,
            Self::OneCutOff | Self::OneStopped | Self::OneKilled => &[ONE],
            Self::DatabaseStopped | Self::DatabaseCutOff | Self::DatabaseExhausted | Self::Failover => {
                ALL_REPLICAS
            }
        }
    }

    /// On which servers revocations may fail. A transaction that is cut off or stands still keeps its locks
    /// for a while.
    pub(crate) const fn may_not_revoke(self) -> &'static [usize] {
        match self {
            Self::OneCutOff | Self::OneStopped => ALL_REPLICAS,
            // A change for which a connection must be opened takes nearly as long as it may.
            Self::LookupsSlow => &[ONE],
            _ => self.may_not_verify(),
        }
    }
}

//! The one place where everything is wired together.

use std::sync::Arc;

use chrono::TimeDelta;
use keyward_console::Console;
use keyward_domain::access::Authenticate;
use keyward_domain::administration::ports::Names;
use keyward_domain::administration::{
    AuditFollower, AuditTrail, FeedStart, FollowedLog, Invitations, Members, OrganizationKeys, Organizations,
    Projects,
};
use keyward_domain::current::Current;
use keyward_domain::id::AuditEventId;
use keyward_domain::keys::PersonalKeys;
use keyward_domain::leaked_keys::RevokeLeakedKeys;
use keyward_domain::planned_ends::PlannedEnds;
use keyward_domain::ports::{AuditFilter, Credentials, KeyLimits, ReachableProjects};
use keyward_domain::propagation::Propagation;
use keyward_domain::public_url::PublicUrl;
use keyward_domain::recent_uses::RecentUses;
use keyward_domain::refused_uses::{RefusedUseReports, RefusedUses};
use keyward_domain::retention::{Retention, RetentionPeriods};
use keyward_domain::sign_in::joining::JoiningPorts;
use keyward_domain::sign_in::own_account::OwnAccountPorts;
use keyward_domain::sign_in::password::PasswordHasher;
use keyward_domain::sign_in::refusals::RefusalWriter;
use keyward_domain::sign_in::seen_sessions::SeenSessions;
use keyward_domain::sign_in::signing_in::SignInPorts;
use keyward_domain::sign_in::{Accounts, Joining, OwnAccount, Setup, SignIn};
use keyward_domain::sources::Sources;
use keyward_domain::verifier::Verifiers;
use keyward_front_door::{Occupancy, RequestIds};
use keyward_http_api::{BaseUrl, GitHubKeys, HttpApi, RateLimits};
use keyward_persistence::postgres::ConnectError;
use keyward_verification_cache::{
    BootClock, CachedCredentials, CachedReachableProjects, FamiliarCredentials, Lookups, MachineClock,
    VerificationCache,
};
use tokio::sync::{Notify, watch};

use crate::clock::SystemClock;
use crate::last_use_writer::LastUseWriter;
use crate::outage::DatabaseFailures;
use crate::password_hasher::Argon2idHasher;
use crate::random::OsRandom;
use crate::readings::Readings;
use crate::refusal_log::{PendingRefusals, RefusalLog};
use crate::refused_use_writer::RefusedUseWriter;
use crate::replica_job::{Progress, ReplicaJob};
use crate::replica_wait::ReplicaWait;
use crate::seen_session_writer::SeenSessionWriter;
use crate::store::Store;
use crate::traces::SpanCounts;
use crate::trial_changes::Changes;

/// The maximum number of keys whose last use is kept in memory until it is written: some 10 MiB if this many
/// are used in a minute.
const RECENTLY_USED_KEYS: usize = 100_000;
/// The maximum number of ended keys whose refused uses wait in memory to be reported, which take some 10 MiB.
const REFUSED_KEYS: usize = 50_000;
/// The maximum number of sessions whose last visit waits in memory to be written, which take some 5 MiB.
const SEEN_SESSIONS: usize = 100_000;
/// The maximum size of the verification cache in bytes: a million keys with their organizations and projects
/// (`docs/performance.md`).
const VERIFICATION_CACHE: usize = 250 * 1024 * 1024;
/// How many keys a server without that cache knows to be no guesses (`docs/limits.md`).
const FAMILIAR_KEYS: usize = 100_000;

/// The real time and randomness.
pub(crate) fn sources_of_this_machine() -> Sources {
    Sources::new(Arc::new(SystemClock), Arc::new(OsRandom))
}

/// Names requests in the order of their arrival.
pub(crate) fn request_ids(sources: Sources) -> RequestIds {
    // A request has no identifier type of its own: where it is stored, in audit events, it may be a proxy's
    // text. Any kind has the same form.
    Arc::new(move || sources.next_id::<AuditEventId>().as_uuid())
}

/// The use cases, over one store.
pub(crate) struct Composition {
    sources: Sources,
    hasher: Arc<dyn PasswordHasher>,
    store: Arc<dyn Store>,
    recent_uses: Arc<RecentUses>,
    refused_uses: Arc<RefusedUses>,
    refusals: Arc<PendingRefusals>,
    seen_sessions: Arc<SeenSessions>,
    credentials: Arc<dyn Credentials>,
    /// The projects that keys reach.
    reachable_projects: Arc<dyn ReachableProjects>,
    boot_clock: Arc<dyn BootClock>,
    cache: Option<Arc<VerificationCache>>,
    /// The progress of the cache's job; all zero without a cache.
    progress: Arc<Progress>,
    /// Notified when a change of access is committed here.
    wake: Arc<Notify>,
    replica_wait: ReplicaWait,
}

impl Composition {
    pub(crate) fn new(sources: Sources, store: Arc<dyn Store>) -> Self {
        let hasher = Argon2idHasher::new(Arc::new(sources.clone()));
        Self::with_hasher(sources, Arc::new(hasher), store)
    }

    pub(crate) fn with_hasher(
        sources: Sources,
        hasher: Arc<dyn PasswordHasher>,
        store: Arc<dyn Store>,
    ) -> Self {
        let boot_clock: Arc<dyn BootClock> = Arc::new(MachineClock);
        let wake = Arc::default();
        Self {
            replica_wait: ReplicaWait::new(store.clone(), Arc::clone(&boot_clock), Arc::clone(&wake)),
            recent_uses: Arc::new(RecentUses::new(RECENTLY_USED_KEYS)),
            refused_uses: Arc::new(RefusedUses::new(REFUSED_KEYS)),
            refusals: Arc::default(),
            seen_sessions: Arc::new(SeenSessions::new(SEEN_SESSIONS)),
            credentials: store.clone(),
            reachable_projects: store.clone(),
            boot_clock,
            cache: None,
            progress: Arc::default(),
            wake,
            sources,
            hasher,
            store,
        }
    }

    /// Keeps verifications in memory, under a lease that the job renews. Until it is started, the database is
    /// asked. Counts look-ups if there is something to count them with.
    ///
    /// # Errors
    /// Only if no connection can be prepared.
    pub(crate) fn with_verification_cache(
        mut self,
        name: String,
        lookups: Option<Arc<Lookups>>,
    ) -> Result<(Self, ReplicaJob), ConnectError> {
        let cache = Arc::new(VerificationCache::new(VERIFICATION_CACHE));
        let job = ReplicaJob::new(
            self.store.for_replica()?,
            Arc::clone(&self.boot_clock),
            Arc::clone(&cache),
            Arc::clone(&self.wake),
            self.sources.next_id(),
            name,
        );
        let credentials = CachedCredentials::new(
            self.store.clone(),
            Arc::clone(&cache),
            Arc::clone(&self.boot_clock),
        );
        self.credentials = Arc::new(credentials.counted(lookups));
        self.cache = Some(Arc::clone(&cache));
        self.progress = job.progress();
        self.reachable_projects = Arc::new(CachedReachableProjects::new(
            self.store.clone(),
            cache,
            Arc::clone(&self.boot_clock),
        ));
        Ok((self, job))
    }

    /// Asks the database about every verification, and remembers which keys it found.
    pub(crate) fn without_verification_cache(mut self) -> Self {
        self.credentials = Arc::new(FamiliarCredentials::new(self.store.clone(), FAMILIAR_KEYS));
        self
    }

    /// For a server, which lasts.
    pub(crate) fn of_server(self) -> Self {
        let replica_wait = self.replica_wait.of_server();
        Self { replica_wait, ..self }
    }

    /// The wait for all servers before a change of access is answered.
    fn propagation(&self) -> Arc<dyn Propagation> {
        Arc::new(self.replica_wait.clone())
    }

    pub(crate) fn setup(&self) -> Setup {
        Setup::new(self.store.clone(), Arc::clone(&self.hasher), self.sources.clone())
    }

    /// Accounts, as the command line manages them.
    pub(crate) fn accounts(&self) -> Accounts {
        Accounts::new(
            self.store.clone(),
            self.store.clone(),
            Arc::clone(&self.hasher),
            self.sources.clone(),
        )
    }

    /// The HTTP API, reached by clients at `base_url`.
    pub(crate) fn http_api(
        &self,
        limits: KeyLimits,
        verifiers: Option<Arc<Current<Verifiers>>>,
        github_keys: Option<Arc<Current<GitHubKeys>>>,
        base_url: BaseUrl,
        rate_limits: RateLimits,
    ) -> HttpApi {
        HttpApi {
            authenticate: self.authenticate(),
            keys: self.keys(limits),
            projects: Arc::clone(&self.reachable_projects),
            verifiers,
            leaks: self.leaks(),
            github_keys,
            base_url,
            rate_limits,
        }
    }

    /// The console, reached by people at `public_url`.
    pub(crate) fn console(
        &self,
        public_url: PublicUrl,
        setup_command: String,
        limits: KeyLimits,
        audit_events_kept_for: Option<TimeDelta>,
    ) -> Console {
        Console {
            setup: self.setup(),
            sign_in: self.sign_in(),
            memberships: self.store.clone(),
            keys: self.keys(limits),
            names: self.names(),
            reachable_projects: self.store.clone(),
            organizations: self.organizations(),
            members: self.members(),
            invitations: self.invitations(),
            projects: self.projects(),
            joining: self.joining(),
            organization_keys: self.organization_keys(),
            audit_trail: self.audit_trail(),
            audit_events_kept_for,
            setup_command,
            own_account: self.own_account(),
            public_url,
            sources: self.sources.clone(),
        }
    }

    /// Which key a token is of.
    pub(crate) fn credentials(&self) -> Arc<dyn Credentials> {
        Arc::clone(&self.credentials)
    }

    /// The authentication of tokens.
    pub(crate) fn authenticate(&self) -> Authenticate {
        Authenticate::new(Arc::clone(&self.credentials), Arc::new(self.sources.clone()))
            .with_recent_uses(Arc::clone(&self.recent_uses))
            .with_refused_uses(Arc::clone(&self.refused_uses))
            .with_propagation(self.propagation())
    }

    /// The use cases of a holder's own keys.
    pub(crate) fn keys(&self, limits: KeyLimits) -> PersonalKeys {
        PersonalKeys::new(self.store.clone(), self.sources.clone(), limits)
            .with_propagation(self.propagation())
    }

    /// The writer of the keys' last uses.
    pub(crate) fn last_use_writer(&self) -> LastUseWriter {
        LastUseWriter::new(
            Arc::clone(&self.recent_uses),
            self.store.clone(),
            Arc::new(self.sources.clone()),
        )
    }

    /// The values that are read at each scrape, in addition to the counters.
    pub(crate) fn readings(
        &self,
        occupancy: Occupancy,
        lookups: Arc<Lookups>,
        failures: Arc<DatabaseFailures>,
        changes: watch::Receiver<Changes>,
        spans: Option<Arc<SpanCounts>>,
    ) -> Readings {
        Readings {
            cache: self.cache.clone(),
            occupancy,
            lookups,
            progress: Arc::clone(&self.progress),
            boot_clock: Arc::clone(&self.boot_clock),
            store: self.store.clone(),
            failures,
            changes,
            spans,
        }
    }

    /// The writer of uses of keys that no longer work.
    pub(crate) fn refused_use_reports(&self) -> RefusedUseReports {
        RefusedUseReports::new(
            Arc::clone(&self.refused_uses),
            self.store.clone(),
            self.sources.clone(),
        )
    }

    /// The task that writes them every few seconds.
    pub(crate) fn refused_use_writer(&self) -> RefusedUseWriter {
        RefusedUseWriter::new(Arc::clone(&self.refused_uses), self.refused_use_reports())
    }

    /// Revokes the keys of reported tokens. It asks the database, so that made-up tokens do not displace
    /// entries of the cache.
    fn leaks(&self) -> RevokeLeakedKeys {
        let leaks = RevokeLeakedKeys::new(self.store.clone(), self.store.clone(), self.sources.clone());
        leaks.with_propagation(self.propagation())
    }

    /// The writer of refused sign-ins.
    pub(crate) fn refusal_log(&self) -> RefusalLog {
        let writer = RefusalWriter::new(self.store.clone(), self.store.clone());
        RefusalLog::new(Arc::clone(&self.refusals), writer)
    }

    /// The writer of the times when sessions were last seen.
    pub(crate) fn seen_session_writer(&self) -> SeenSessionWriter {
        SeenSessionWriter::new(Arc::clone(&self.seen_sessions), self.store.clone())
    }

    /// The purge of expired records.
    pub(crate) fn retention(&self, periods: RetentionPeriods) -> Retention {
        Retention::new(self.store.clone(), self.sources.clone(), periods)
    }

    /// The recording of planned ends that have come.
    pub(crate) fn planned_ends(&self) -> PlannedEnds {
        PlannedEnds::new(self.store.clone(), self.store.clone(), self.sources.clone())
    }

    /// The keys of organizations, as owners see them.
    pub(crate) fn organization_keys(&self) -> OrganizationKeys {
        OrganizationKeys::new(self.store.clone(), self.sources.clone()).with_propagation(self.propagation())
    }

    /// The use cases that read the audit log.
    pub(crate) fn audit_trail(&self) -> AuditTrail {
        AuditTrail::new(
            self.store.clone(),
            self.store.clone(),
            self.store.clone(),
            self.sources.clone(),
        )
    }

    /// Follows the audit log in commit order.
    pub(crate) fn audit_follower(
        &self,
        log: FollowedLog,
        filter: AuditFilter,
        start: FeedStart,
    ) -> AuditFollower {
        AuditFollower::new(self.store.clone(), self.audit_trail(), log, filter, start)
    }

    /// The use cases with which a signed-in user manages their own password and sessions.
    pub(crate) fn own_account(&self) -> OwnAccount {
        let ports = OwnAccountPorts {
            accounts: self.store.clone(),
            sessions: self.store.clone(),
            installation: self.store.clone(),
            throttle: self.store.clone(),
            audit_log: self.store.clone(),
            refusals: self.refusals.clone(),
            hasher: Arc::clone(&self.hasher),
        };
        OwnAccount::new(ports, self.sources.clone())
    }

    /// Which subjects the database has, and their names.
    pub(crate) fn names(&self) -> Arc<dyn Names> {
        self.store.clone()
    }

    /// The settings of organizations.
    pub(crate) fn organizations(&self) -> Organizations {
        Organizations::new(self.store.clone(), self.store.clone(), self.sources.clone())
    }

    /// The use cases of members.
    pub(crate) fn members(&self) -> Members {
        Members::new(self.store.clone(), self.store.clone(), self.sources.clone())
            .with_propagation(self.propagation())
    }

    pub(crate) fn invitations(&self) -> Invitations {
        Invitations::new(self.store.clone(), self.store.clone(), self.sources.clone())
    }

    pub(crate) fn joining(&self) -> Joining {
        let ports = JoiningPorts {
            invitations: self.store.clone(),
            accounts: self.store.clone(),
            throttle: self.store.clone(),
            hasher: Arc::clone(&self.hasher),
        };
        Joining::new(ports, self.sources.clone())
    }

    /// The use cases of projects.
    pub(crate) fn projects(&self) -> Projects {
        Projects::new(self.store.clone(), self.store.clone(), self.sources.clone())
            .with_propagation(self.propagation())
    }

    /// The use cases of sign-in.
    pub(crate) fn sign_in(&self) -> SignIn {
        let ports = SignInPorts {
            accounts: self.store.clone(),
            sessions: self.store.clone(),
            installation: self.store.clone(),
            throttle: self.store.clone(),
            refusals: self.refusals.clone(),
            memberships: self.store.clone(),
            hasher: Arc::clone(&self.hasher),
            seen: Arc::clone(&self.seen_sessions),
        };
        SignIn::new(ports, self.sources.clone())
    }
}

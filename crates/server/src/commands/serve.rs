//! `keyward serve`: the server itself.

use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::future::join_all;
use keyward_console::setup_link;
use keyward_domain::audit::RequestSource;
use keyward_domain::ports::{KeyLimit, KeyLimits};
use keyward_domain::public_url::PublicUrl;
use keyward_domain::rate::Rate;
use keyward_domain::retention::RetentionPeriods;
use keyward_domain::sign_in::Setup;
use keyward_domain::sign_in::ports::ReplaceSetupLinkError;
use keyward_domain::sources::Sources;
use keyward_domain::verifier::Verifiers;
use keyward_front_door::{
    Deadlines, FrontDoor, FrontDoorConfig, Limits, Observer, Refused, TrustedProxies, listen,
};
use keyward_http_api::{BaseUrl, GitHubKeys, LARGER_BODIES};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tracing::info;
use zeroize::Zeroizing;

use super::Failure;
use crate::background_writer::{self, RunningWriter};
use crate::clock::since_now;
use crate::composition::{Composition, request_ids};
use crate::data_directory::DataDirectoryLock;
use crate::demo::Demo;
use crate::exposure;
use crate::health::Health;
use crate::job::RunningJob;
use crate::last_use_writer::LastUseWriter;
use crate::metrics_listener::MetricsListener;
use crate::options::{LimitOptions, ProxyOptions, ServeOptions, Switch};
use crate::outage::Outages;
use crate::output;
use crate::planned_end_job::PlannedEndJob;
use crate::public_url;
use crate::readings::Readings;
use crate::refusal_log::RefusalLog;
use crate::refused_use_writer::RefusedUseWriter;
use crate::replica_job::ReplicaJob;
use crate::retention_job::RetentionJob;
use crate::routes::{HEALTH_PATHS, Routes, refusal_response};
use crate::runs::MeasuredTask;
use crate::schema_watch;
use crate::seen_session_writer::SeenSessionWriter;
use crate::setup_command::{public_setup_command, setup_command};
use crate::shutdown::ShutdownSignals;
use crate::storage;
use crate::store::SchemaProbe;
use crate::traces::Traces;
use crate::trial_changes::TrialChanges;
use crate::watched_file::WatchedFile;

/// Serves until it is asked to end and the requests in flight are finished.
pub(crate) async fn run(
    options: ServeOptions,
    demo: Option<&Demo>,
    sources: Sources,
    traces: Option<Traces>,
) -> Result<(), Failure> {
    let mut signals = ShutdownSignals::listen().map_err(Failure::Process)?;
    let server = tokio::select! {
        biased;
        () = signals.next() => return Ok(()),
        server = Server::prepare(options, demo, sources, traces) => server?,
    };
    let last_act = demo.map(Demo::removal);
    let last_act = move || {
        if let Some(removal) = last_act {
            removal();
        }
    };
    server.serve(signals.first(last_act)).await;
    Ok(())
}

/// A server that listens, and does not accept connections yet.
struct Server {
    front_door: FrontDoor,
    listener: TcpListener,
    routes: Routes,
    listening_on: SocketAddr,
    public_url: PublicUrl,
    last_use_writer: LastUseWriter,
    refused_use_writer: RefusedUseWriter,
    refusal_log: RefusalLog,
    seen_session_writer: SeenSessionWriter,
    retention_job: Option<RetentionJob>,
    planned_end_job: PlannedEndJob,
    replica_job: Option<ReplicaJob>,
    schema_probe: Arc<dyn SchemaProbe>,
    trial_changes: TrialChanges,
    verifiers: Option<WatchedFile<Verifiers>>,
    github_keys: Option<WatchedFile<GitHubKeys>>,
    metrics: Option<(MetricsListener, Readings)>,
    traces: Option<Traces>,
    _data_directory_lock: Option<DataDirectoryLock>,
}

impl Server {
    /// Checks all options before the database is opened.
    async fn prepare(
        options: ServeOptions,
        demo: Option<&Demo>,
        sources: Sources,
        traces: Option<Traces>,
    ) -> Result<Self, Failure> {
        let mut database = match demo {
            Some(demo) => demo.database(),
            None => storage::configured(&options.database)?,
        };
        database.limit_connections(options.database_pool_size);
        // The demo's data is old, so much of it would be purged at once.
        let periods = match demo {
            Some(_) => None,
            None => Some(options.retention.periods()?),
        };
        exposure::warn_of_open_configuration(
            [options.verifiers.as_deref(), options.github_keys.as_deref()],
            options.traces.otlp_headers_file.as_deref(),
        );
        let verifiers = options.verifiers.map(WatchedFile::<Verifiers>::new).transpose()?;
        let github_keys = options.github_keys;
        let github_keys = github_keys.map(WatchedFile::<GitHubKeys>::new).transpose()?;
        let given_url = options.server.public_url.as_deref();
        let given_url = given_url.map(public_url::given).transpose()?;
        let address = options.server.listen;
        let listening = |source| Failure::Listen { address, source };
        let listener = listen(address).map_err(listening)?;
        let listening_on = listener.local_addr().map_err(listening)?;
        // Only a configured URL: clients behind a proxy or a forwarded port do not reach the listening
        // address.
        let base_url = given_url
            .as_ref()
            .map(|url| BaseUrl::new(url.as_str()))
            .unwrap_or_default();
        let public_url = given_url.map_or_else(|| public_url::of_listener(listening_on), Ok)?;

        exposure::warn_of_plain_listener(listening_on, public_url.is_https());

        let metrics = options.server.metrics_listen;
        let metrics = metrics
            .map(|address| MetricsListener::bind(address, listening_on, request_ids(sources.clone())))
            .transpose()?;
        let front_door = FrontDoor::new(FrontDoorConfig {
            deadlines: deadlines(&options.limits),
            limits: limits(&options.limits),
            trusted_proxies: trusted_proxies(options.proxies),
            https: public_url.is_https(),
            health_paths: HEALTH_PATHS,
            larger_bodies: LARGER_BODIES,
            error_pages: Arc::new({
                let base_url = base_url.clone();
                move |refused: &Refused<'_>| refusal_response(refused, &base_url)
            }),
            observer: observer(metrics.as_ref(), traces.as_ref()),
            tracer: traces.as_ref().map(|_| Traces::tracer(public_url.is_https())),
            ..FrontDoorConfig::new(request_ids(sources.clone()))
        })?;

        let new_in = database.new_in();
        let shown_command = public_setup_command(&database, &public_url);
        let logged_command = setup_command(&database, &public_url);
        let (store, data_directory_lock) = storage::open_to_serve(database).await?;
        if let (Some(directory), None) = (new_in, demo) {
            info!(directory = %directory.display(), "database created");
        }
        if let Some(metrics) = &metrics {
            store.observe_pool_waits(metrics.pool_waits());
        }
        let composition = Composition::new(sources.clone(), Arc::clone(&store)).of_server();
        let (composition, replica_job) = match options.verification_cache {
            Switch::On => {
                let lookups = metrics.as_ref().map(MetricsListener::lookups);
                let (composition, job) = composition
                    .with_verification_cache(replica_name(listening_on), lookups)
                    .map_err(storage::OpenError::from)?;
                (composition, Some(job))
            }
            Switch::Off => (composition.without_verification_cache(), None),
        };
        let key_limits = key_limits(&options.limits);
        let (trial_changes, changes) = TrialChanges::new(store.clone());
        let outages = Outages::new({
            let store = Arc::clone(&store);
            move || {
                let store = Arc::clone(&store);
                async move { store.is_ready().await.is_ok() && store.try_change().await.is_ok() }
            }
        });
        let failures = outages.failures();
        let routes = Routes::new(
            Health::new(front_door.readiness(), store.clone(), changes.clone()),
            outages,
            base_url.clone(),
            composition
                .http_api(
                    key_limits,
                    verifiers.as_ref().map(WatchedFile::current),
                    github_keys.as_ref().map(WatchedFile::current),
                    base_url,
                    options.rate_limits.limits(&since_now()),
                )
                .endpoint(),
            composition
                .console(
                    public_url.clone(),
                    shown_command,
                    key_limits,
                    periods.as_ref().and_then(RetentionPeriods::audit_events),
                )
                .endpoint(),
        );
        let schema_probe: Arc<dyn SchemaProbe> = store.clone();
        match demo {
            Some(demo) => demo.begin(&sources, store, &public_url).await?,
            None => {
                output::show_on_terminal(&format!("Keyward is running at {public_url}"));
                print_setup_instructions(&composition.setup(), &public_url, &logged_command).await?;
            }
        }
        let metrics = metrics.map(|metrics| {
            let spans = traces.as_ref().map(Traces::counts);
            let lookups = metrics.lookups();
            let readings = composition.readings(front_door.occupancy(), lookups, failures, changes, spans);
            (metrics, readings)
        });
        Ok(Self {
            front_door,
            listener,
            routes,
            listening_on,
            public_url,
            last_use_writer: composition.last_use_writer(),
            refused_use_writer: composition.refused_use_writer(),
            refusal_log: composition.refusal_log(),
            seen_session_writer: composition.seen_session_writer(),
            planned_end_job: PlannedEndJob::new(composition.planned_ends()),
            retention_job: periods.map(|periods| RetentionJob::new(composition.retention(periods))),
            replica_job,
            schema_probe,
            trial_changes,
            verifiers,
            github_keys,
            metrics,
            traces,
            _data_directory_lock: data_directory_lock,
        })
    }

    async fn serve(self, until: impl Future<Output = ()>) {
        info!(
            version = env!("VERSION_WITH_COMMIT"),
            address = %self.listening_on,
            public_url = self.public_url.as_str(),
            "listening"
        );
        let traces = self.traces.map(Traces::start);
        // They are cut off at the end.
        let mut checks = JoinSet::new();
        checks.spawn(schema_watch::watch(self.schema_probe));
        checks.spawn(self.trial_changes.run());
        let writers = [
            background_writer::start(self.last_use_writer),
            background_writer::start(self.refused_use_writer),
            background_writer::start(self.refusal_log),
            background_writer::start(self.seen_session_writer),
        ];
        let runs = [
            self.retention_job.as_ref().map(RetentionJob::runs),
            Some(self.planned_end_job.runs()),
            self.replica_job.as_ref().map(ReplicaJob::runs),
            self.verifiers.as_ref().map(WatchedFile::runs),
            self.github_keys.as_ref().map(WatchedFile::runs),
        ];
        let tasks = writers.iter().map(RunningWriter::measured);
        let tasks = tasks
            .chain(runs.into_iter().flatten().map(MeasuredTask::from))
            .collect();
        let jobs = [
            self.retention_job.map(RetentionJob::start),
            Some(self.planned_end_job.start()),
            self.verifiers.map(WatchedFile::start),
            self.github_keys.map(WatchedFile::start),
            self.replica_job.map(ReplicaJob::start),
            self.metrics
                .map(|(listener, readings)| listener.start(readings, tasks)),
        ];
        let forms = self.routes.forms();
        let drained = self.front_door.serve(self.listener, self.routes, until).await;
        // Before the writers, so that the records of these forms are written, too.
        forms.finish().await;
        let jobs = jobs.into_iter().flatten().map(RunningJob::finish);
        tokio::join!(join_all(jobs), join_all(writers.map(RunningWriter::finish)));
        // Last, since all others may end spans.
        if let Some(traces) = traces {
            traces.finish().await;
        }
        info!(cut_off = drained.cut_off, "stopped");
    }
}

/// Notifies all observers of a request.
fn observer(metrics: Option<&MetricsListener>, traces: Option<&Traces>) -> Option<Observer> {
    let observers = (
        metrics.map(MetricsListener::observer),
        traces.map(|_| Traces::observer()),
    );
    match observers {
        (Some(metrics), Some(traces)) => Some(Arc::new(move |exchanged| {
            metrics(exchanged);
            traces(exchanged);
        })),
        (one, other) => one.or(other),
    }
}

/// Shows the way to the first run: the link itself on a terminal only, since its user becomes the first
/// owner.
async fn print_setup_instructions(
    setup: &Setup,
    public_url: &PublicUrl,
    command: &str,
) -> Result<(), Failure> {
    if setup.is_complete().await? {
        return Ok(());
    }
    if !output::has_terminal() {
        info!(command, "not set up; the command prints the setup link");
        return Ok(());
    }
    match setup.create_link(RequestSource::default()).await {
        Ok(token) => {
            let invitation = Zeroizing::new(format!(
                "Keyward is not set up yet. Open this link to set it up; it works once and expires in 24 hours:\n{}",
                setup_link(public_url, &token)
            ));
            output::show_on_terminal(&invitation);
            Ok(())
        }
        // The setup was completed meanwhile.
        Err(ReplaceSetupLinkError::AlreadySetUp) => Ok(()),
        Err(ReplaceSetupLinkError::Storage(error)) => Err(error.into()),
    }
}

/// Which of several servers this is, for people.
fn replica_name(listening_on: SocketAddr) -> String {
    let machine = rustix::system::uname();
    format!("{} {listening_on}", machine.nodename().to_string_lossy())
}

fn deadlines(options: &LimitOptions) -> Deadlines {
    Deadlines {
        keep_alive: options.keep_alive_timeout,
        not_ready_notice: options.shutdown_delay,
        drain: options.drain_timeout,
        ..Deadlines::default()
    }
}

fn limits(options: &LimitOptions) -> Limits {
    Limits {
        connections: options.max_connections,
        ..Limits::default()
    }
}

fn key_limits(options: &LimitOptions) -> KeyLimits {
    KeyLimits {
        valid: KeyLimit(options.key_limit),
        changes: Rate::per_minute(options.change_rate, options.change_burst),
    }
}

fn trusted_proxies(options: ProxyOptions) -> TrustedProxies {
    TrustedProxies {
        networks: options.trusted_proxies,
        header: options.forwarded_header.into(),
    }
}

//! Keyward: a self-hosted service that issues, verifies and revokes personal API keys.
//!
//! The binary: command line, configuration, and the real clock, randomness and password hasher. Everything
//! else is in the crates that [`composition`] wires together.
//!
//! | to read about | look at |
//! |---|---|
//! | what can be asked, and how | [`options`], [`database_url`], [`public_url`], [`verifier_file`], [`github_key_file`], [`secret`], [`standard_input`] |
//! | the commands | [`commands`], one module per command, and [`setup_command`] |
//! | how the parts are connected | [`composition`], [`store`], [`routes`], [`wanted_format`] |
//! | time, randomness, password hashes | [`clock`], [`random`], [`password_hasher`] |
//! | where messages go | [`logging`] (standard error), [`output`] (answers and the terminal), [`program`] (its name) |
//! | background tasks | [`job`], [`background_writer`], [`last_use_writer`], [`refused_use_writer`], [`refusal_log`], [`seen_session_writer`], [`retention_job`], [`purge`], [`schema_watch`], [`watched_file`], [`planned_end_job`], [`replica_job`], [`replica_wait`], [`replica_watch`], [`form_tasks`], [`trial_changes`] |
//! | made-up data to explore | [`demo`] |
//! | metrics | [`metric`], [`measurements`], [`request_metrics`], [`runs`], [`readings`], [`metrics_listener`] |
//! | what a collector gets of requests | [`traces`] |
//! | beginning and end | [`storage`], [`data_directory`], [`health`], [`outage`], [`shutdown`], [`exposure`] |

mod background_writer;
mod clock;
mod commands;
mod composition;
mod data_directory;
mod database_url;
mod demo;
mod exposure;
mod form_tasks;
mod github_key_file;
mod health;
mod job;
mod last_use_writer;
mod logging;
mod measurements;
mod metric;
mod metrics_listener;
mod options;
mod outage;
mod output;
mod password_hasher;
mod planned_end_job;
mod program;
mod public_url;
mod purge;
mod random;
mod readings;
mod refusal_log;
mod refused_use_writer;
mod replica_job;
mod replica_wait;
mod replica_watch;
mod request_metrics;
mod retention_job;
mod routes;
mod runs;
mod schema_watch;
mod secret;
mod seen_session_writer;
mod setup_command;
mod shutdown;
mod standard_input;
mod storage;
mod store;
mod traces;
mod trial_changes;
mod verifier_file;
mod wanted_format;
mod watched_file;

use std::process::ExitCode;
use std::time::Duration;

use commands::{
    Failure, admin_audit_log, admin_bootstrap, admin_create_organization, admin_create_user,
    admin_remove_member, admin_repeat_revocations, admin_reset_password, admin_revoke, admin_setup_link,
    clean_up, export, healthcheck, import, migrate, openapi, replicas, serve, token_check, verifier_create,
};
use composition::sources_of_this_machine;
use demo::Demo;
use logging::LogFilter;
use mimalloc::MiMalloc;
use options::{AdminCommand, Command, CommandLine, LoggingOptions, TokenCommand, VerifierCommand};
use rustix::thread::disable_transparent_huge_pages;
use traces::Traces;
use tracing::warn;

/// How long threads that still hash a password may take to end. Their results are not needed.
const THREAD_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// A verification allocates dozens of times (`docs/performance.md`).
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    // Where the kernel enables huge pages for all processes, 50 MB of the allocator's first arena would be
    // resident in an idle server. If they cannot be disabled, the server runs with them.
    let _ = disable_transparent_huge_pages(true);
    let command_line = match CommandLine::read(std::env::args_os()) {
        Ok(command_line) => command_line,
        // Help and version count as errors here: clap prints those on standard output, and their exit code is
        // 0.
        Err(error) => return output::print_usage(&error),
    };
    run(command_line.command).unwrap_or_else(|failure| {
        output::report(&format!("error: {}", failure.sentence()));
        if failure.is_about_options() {
            ExitCode::from(output::INVALID_OPTIONS)
        } else {
            ExitCode::FAILURE
        }
    })
}

fn run(command: Command) -> Result<ExitCode, Failure> {
    let _last_lines = logging::LastLines;
    if command.answers_once() {
        output::refuse_closed_output()?;
    }
    match command {
        Command::Token(TokenCommand::Check) => return token_check::run(),
        Command::Verifier(VerifierCommand::Create(options)) => verifier_create::run(&options)?,
        Command::Openapi => openapi::run()?,
        Command::Healthcheck(options) => healthcheck::run(&options)?,
        Command::Serve(options) => {
            let sources = sources_of_this_machine();
            let traces = options.traces.settings();
            let traces = traces
                .map(|settings| Traces::prepared(&settings, &sources))
                .transpose()?;
            log_and_trace(&options.logging, LogFilter::of_server, traces.as_ref())?;
            // Outlives the runtime, whose last threads may still write there.
            let demo = Demo::prepared(&options)?;
            wait_for(serve::run(*options, demo.as_ref(), sources, traces))?;
        }
        Command::Migrate(options) => {
            log(&options.logging, LogFilter::of_command)?;
            wait_for(migrate::run(options))?;
        }
        Command::Export(options) => {
            log(&options.logging, LogFilter::of_command)?;
            wait_for(export::run(options))?;
        }
        Command::Import(options) => {
            log(&options.logging, LogFilter::of_command)?;
            wait_for(import::run(options))?;
        }
        Command::Replicas(options) => {
            log(&options.logging, LogFilter::of_command)?;
            wait_for(replicas::run(options))?;
        }
        Command::CleanUp(options) => {
            log(&options.storage.logging, LogFilter::of_command)?;
            wait_for(clean_up::run(options))?;
        }
        Command::Admin(command) => {
            log(command.logging(), LogFilter::of_command)?;
            match command {
                AdminCommand::Bootstrap(options) => wait_for(admin_bootstrap::run(options))?,
                AdminCommand::SetupLink(options) => wait_for(admin_setup_link::run(options))?,
                AdminCommand::CreateUser(options) => wait_for(admin_create_user::run(options))?,
                AdminCommand::CreateOrganization(options) => {
                    wait_for(admin_create_organization::run(options))?;
                }
                AdminCommand::RemoveMember(options) => wait_for(admin_remove_member::run(options))?,
                AdminCommand::Revoke(options) => wait_for(admin_revoke::run(options))?,
                AdminCommand::RepeatRevocations(options) => {
                    wait_for(admin_repeat_revocations::run(options))?;
                }
                AdminCommand::ResetPassword(options) => wait_for(admin_reset_password::run(options))?,
                AdminCommand::AuditLog(options) => wait_for(admin_audit_log::run(options))?,
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn log(options: &LoggingOptions, default_filter: fn() -> LogFilter) -> Result<(), Failure> {
    log_and_trace(options, default_filter, None)
}

fn log_and_trace(
    options: &LoggingOptions,
    default_filter: fn() -> LogFilter,
    traces: Option<&Traces>,
) -> Result<(), Failure> {
    let filter = options.log_filter.clone().unwrap_or_else(default_filter);
    logging::start(options.log_format, &filter, traces).map_err(Failure::Process)?;
    let unknown = options::unknown_variables(std::env::vars_os().map(|(name, _)| name));
    if !unknown.is_empty() {
        warn!(
            variables = unknown.join(", "),
            "unknown variables ignored: see `{} help serve`",
            program::name()
        );
    }
    Ok(())
}

fn wait_for(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::Process)?;
    let result = runtime.block_on(command);
    runtime.shutdown_timeout(THREAD_SHUTDOWN_TIMEOUT);
    result
}

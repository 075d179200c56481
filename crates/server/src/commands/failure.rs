//! Why a command failed.

use std::error::Error;
use std::io;
use std::net::SocketAddr;

use keyward_audit_export::json_lines::NotAnEvent;
use keyward_domain::administration::ports::CutoffTooRecent;
use keyward_domain::administration::ports::RevokeKeysError;
use keyward_domain::administration::{ExportAuditLogError, StopReason};
use keyward_domain::failure_sentence::sentence;
use keyward_domain::id::ApiKeyId;
use keyward_domain::organization::Slug;
use keyward_domain::ports::{FeedPosition, StorageError};
use keyward_domain::retention::InvalidRetentionPeriod;
use keyward_domain::sign_in::password::{HashingError, WeakPassword};
use keyward_domain::text::TextError;
use keyward_domain::token::MalformedToken;
use keyward_domain::user::Username;
use keyward_front_door::ConfigError;
use keyward_persistence::Obstacle;
use keyward_persistence::transfer::{ExportError, ImportError};

use crate::demo::DemoError;
use crate::metrics_listener::MetricsListenerError;
use crate::output::{OutputError, StreamClosed};
use crate::program;
use crate::public_url::PublicUrlError;
use crate::standard_input::StandardInputError;
use crate::storage::OpenError;
use crate::traces::TracesError;
use crate::watched_file::FileError;

/// One sentence for the user of the command; see [`keyward_domain::failure_sentence`]. Unless it says
/// otherwise, nothing was changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Demo(#[from] DemoError),
    #[error(transparent)]
    PublicUrl(#[from] PublicUrlError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    StandardInput(#[from] StandardInputError),
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error(transparent)]
    StreamClosed(#[from] StreamClosed),
    /// The account has the password already. No shell reads anything into a username.
    #[error(
        "the generated password was not shown: run `{} --generate-password --username {username}` to generate another",
        program::command_on_this_database("admin reset-password")
    )]
    PasswordNotShown { username: Username, source: OutputError },
    #[error(
        "the database did not confirm the change, and the generated password was not shown: run `{} --generate-password \
         --username {username}` to generate another; if that finds no such user, repeat this command",
        program::command_on_this_database("admin reset-password")
    )]
    PasswordUnknown {
        username: Username,
        source: Box<dyn Error + Send + Sync>,
    },
    /// Repeated, the command would create a second one of the same name.
    #[error(
        "the database did not confirm the change: repeat this command only if the owner does not find the organization in \
         the console"
    )]
    OrganizationUnconfirmed(#[source] Box<dyn Error + Send + Sync>),
    #[error("the verifier's secret cannot be written to standard error, so no verifier was created")]
    SecretNotShown(#[source] io::Error),
    #[error("invalid --max-connections")]
    Limits(#[from] ConfigError),
    #[error("cannot listen on {address} (choose another address with --listen)")]
    Listen { address: SocketAddr, source: io::Error },
    #[error(transparent)]
    Metrics(#[from] MetricsListenerError),
    #[error(transparent)]
    Traces(#[from] TracesError),
    #[error("no healthy server on {address}: start it, or say with --listen where it listens")]
    NoHealthAnswer { address: SocketAddr, source: io::Error },
    #[error("what listens on {address} does not answer as a healthy Keyward: look at its log")]
    NotHealthy { address: SocketAddr },
    #[error("failed to start")]
    Process(#[source] io::Error),
    #[error("the password {0}")]
    WeakPassword(WeakPassword),
    #[error("invalid display name")]
    DisplayName(#[from] TextError),
    #[error(
        "Keyward is already set up: add users with `{}`",
        program::command_on_this_database("admin create-user")
    )]
    AlreadySetUp,
    /// Cannot happen: the command line needs no link.
    #[error("the setup link is no longer valid")]
    SetupLinkInvalid,
    #[error("the username {0} is taken: choose another")]
    UsernameTaken(Username),
    #[error("there is no user named {0}")]
    UserUnknown(Username),
    #[error("there is no organization {asked}: set --organization to one of {}", listed(.existing))]
    OrganizationUnknown { asked: Slug, existing: Vec<Slug> },
    #[error("{username} is not a member of {organization}")]
    NotAMember { username: Username, organization: Slug },
    #[error(
        "{username} is the only permanent owner of {organization}, which needs one: make someone else an owner in the console first"
    )]
    LastOwner { username: Username, organization: Slug },
    #[error("{organization} has no key {key}: no key was revoked")]
    KeyUnknown { key: ApiKeyId, organization: Slug },
    #[error("standard input has no token, so no key was revoked: {0}")]
    NoToken(MalformedToken),
    #[error("no key has this token, so no key was revoked: check that this is the right database")]
    TokenUnknown,
    #[error("invalid --issued-before")]
    IssuedBefore(#[from] CutoffTooRecent),
    #[error(
        "{revoked} keys of {organization} were revoked, and others may be left: run the same command again to continue"
    )]
    RevokedInPart {
        revoked: u32,
        organization: Slug,
        #[source]
        why: StopReason<RevokeKeysError>,
    },
    #[error("--until must be after --since")]
    UntilBeforeSince,
    #[error(
        "the audit log has no position {0}, because the database was restored from an older backup or is another one: set \
         --after to the position of an event in this database, or to `start` for all events"
    )]
    PositionUnknown(FeedPosition),
    /// Cannot happen: every event can be written as JSON.
    #[error("an event cannot be written")]
    EventUnwritable(#[from] serde_json::Error),
    #[error("standard input is a terminal: {}", redirect_all_logs())]
    AuditLogFromTerminal,
    #[error("standard input is empty: {}", redirect_all_logs())]
    NoEvents,
    #[error(
        "standard input has only the installation's own log, so nothing was changed: {}",
        redirect_all_logs()
    )]
    AuditLogOfInstallation,
    #[error(
        "this database has everything that the log has, so there is nothing to repeat: set --data-dir or \
         KEYWARD_DATABASE_URL to the restored database, and redirect the log of the one that was lost, up to its end"
    )]
    AuditLogWithinThisDatabase,
    #[error(
        "this database has nothing that the log is about, so nothing was changed: set --data-dir or \
         KEYWARD_DATABASE_URL to the restored database, and redirect the log of the one that was lost"
    )]
    AuditLogUnrelated,
    #[error("standard input has no event{0}, so nothing was changed: check --since")]
    NoEventsSince(String),
    #[error(
        "line {line} of standard input is no event of the audit log, so nothing was changed: {source}; remove it if it \
         is the last line and was cut off, otherwise {}",
        redirect_all_logs()
    )]
    NotAnEvent { line: usize, source: NotAnEvent },
    /// Which, is reported before.
    #[error("changes are left to repeat: see above")]
    ChangesLeft,
    #[error("the organization {0} no longer exists")]
    OrganizationGone(Slug),
    #[error("there are several organizations: set --organization to one of {}", listed(.existing))]
    OrganizationAmbiguous { existing: Vec<Slug> },
    #[error(
        "standard output is a terminal, and the export contains password hashes: redirect it to a file that only you can \
         read, or pipe it into `{} import`",
        program::name()
    )]
    ExportToTerminal,
    #[error(
        "there is nothing to export, because this database is not set up: choose another with --data-dir or \
         KEYWARD_DATABASE_URL"
    )]
    NothingToExport,
    #[error(transparent)]
    Export(#[from] ExportError),
    #[error(
        "standard input is a terminal: redirect a file from `{0} export` to it, or pipe the output of `{0} export` into it",
        program::name()
    )]
    ImportFromTerminal,
    #[error("nothing was imported")]
    NothingImported(#[source] ImportError),
    #[error(
        "nothing was imported, because this database role may not write all tables (set KEYWARD_MIGRATION_DATABASE_URL to the \
         URL of the role that owns them)"
    )]
    ImportNotAllowed(#[source] Box<dyn Error + Send + Sync>),
    /// Cannot happen: too short periods are refused when the options are read.
    #[error(transparent)]
    RetentionPeriod(#[from] InvalidRetentionPeriod),
    /// With what to do about it.
    #[error("nothing was removed: {0}")]
    ClockDoubted(String),
    /// All other expired records were removed before.
    #[error(
        "old audit events were not removed, because this database role can only add events: set \
         KEYWARD_MIGRATION_DATABASE_URL to the URL of the role that owns the tables"
    )]
    AuditEventsStay,
    #[error(transparent)]
    Hashing(#[from] HashingError),
    #[error(transparent)]
    ExportAuditLog(#[from] ExportAuditLogError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Failure {
    /// The reason in one sentence, with what to do about it.
    pub(crate) fn sentence(&self) -> String {
        let reason = sentence(self);
        match self {
            Self::Storage(error)
            | Self::NothingImported(ImportError::Storage(error))
            | Self::Export(ExportError::Storage(error))
            | Self::ExportAuditLog(ExportAuditLogError::Storage(error)) => match storage_advice(error) {
                Some(advice) => format!("{reason}: {advice}"),
                None => reason,
            },
            _ => reason,
        }
    }

    /// Whether an option or a variable has a value that is valid nowhere: repeating the command cannot help.
    pub(crate) const fn is_about_options(&self) -> bool {
        match self {
            Self::PublicUrl(_)
            | Self::Limits(_)
            | Self::DisplayName(_)
            | Self::IssuedBefore(_)
            | Self::UntilBeforeSince
            | Self::Traces(TracesError::Endpoint(_))
            | Self::Metrics(MetricsListenerError::PublicAddress { .. } | MetricsListenerError::Limits(_))
            | Self::Demo(
                DemoError::ReachedFromOtherMachines(_) | DemoError::DatabaseUrl | DemoError::DataDirectory,
            ) => true,
            Self::Open(error) => error.is_about_options(),
            Self::Demo(DemoError::DatabaseUrlUnreadable(error)) => error.is_about_options(),
            _ => false,
        }
    }
}

/// The advice about a database that failed in the middle of a command, unless the error contains it.
fn storage_advice(error: &StorageError) -> Option<&'static str> {
    if matches!(error, StorageError::OutcomeUnknown(_)) {
        return Some("repeat the command, which does no harm if the change was made");
    }
    match Obstacle::of(error) {
        Some(Obstacle::MissingPrivilege) => Some(
            "grant this database role what docs/choosing-a-database.md (Prepare PostgreSQL) says, or run the command as the \
             role that owns the tables",
        ),
        Some(Obstacle::ReadOnly) => {
            Some("use the primary server, or make the database writable, and repeat the command")
        }
        Some(Obstacle::Locked) => {
            Some("another command or server is changing the database: try again when that has ended")
        }
        Some(Obstacle::DiskFull) => Some("free disk space, and repeat the command"),
        Some(Obstacle::FileDamaged) => Some(
            "the database file is damaged, restore a backup as docs/choosing-a-database.md (Back up) says",
        ),
        Some(Obstacle::ConnectionRefused | Obstacle::FileReplaced) => None,
        None => error
            .is_outage()
            .then_some("check that the database answers, and repeat the command"),
    }
}

fn listed(slugs: &[Slug]) -> String {
    slugs.iter().map(Slug::as_str).collect::<Vec<_>>().join(", ")
}

fn redirect_all_logs() -> String {
    let keyward = program::name();
    format!("redirect a file from `{keyward} admin audit-log --after start --all` to it")
}

#[cfg(test)]
mod tests {
    use diesel::result::{DatabaseErrorKind, Error as QueryError};

    use super::*;

    fn refused(message: &str) -> Box<dyn Error + Send + Sync> {
        QueryError::DatabaseError(DatabaseErrorKind::Unknown, Box::new(message.to_owned())).into()
    }

    #[test]
    fn storage_failure_says_what_to_do() {
        for (cause, advice) in [
            ("permission denied for table users", "grant this database role"),
            ("attempt to write a readonly database", "use the primary server"),
            ("database is locked", "another command or server is changing"),
            ("canceling statement due to lock timeout", "try again"),
            ("database or disk is full", "free disk space"),
            ("connection closed", "check that the database answers, and repeat"),
        ] {
            let sentence = Failure::Storage(StorageError::Unavailable(refused(cause))).sentence();
            let reason = format!("storage is not available: {cause}: ");
            assert!(sentence.starts_with(&reason), "{sentence}");
            assert!(sentence.contains(advice), "{sentence}");
        }
        let damaged = StorageError::Defect(refused("database disk image is malformed"));
        let sentence = Failure::Storage(damaged).sentence();
        assert!(sentence.contains("restore a backup"), "{sentence}");
        let unknown = Failure::Storage(StorageError::OutcomeUnknown("connection closed".into()));
        assert!(unknown.sentence().ends_with(
            "whether the change was made: connection closed: repeat the command, which does no harm if the change was made"
        ));
    }

    #[test]
    fn import_that_lost_its_database_imported_nothing() {
        let lost = StorageError::Unavailable("connection closed".into());
        let failure = Failure::NothingImported(ImportError::Storage(lost));
        assert_eq!(
            failure.sentence(),
            "nothing was imported: storage is not available: connection closed: check that the database answers, and repeat \
             the command"
        );
    }
}

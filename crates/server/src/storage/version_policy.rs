//! Which commands work with the tables of which versions.

use keyward_persistence::{SchemaState, UnusableSchema};
use tracing::warn;

use crate::program;

/// The tables are of a version that the command cannot work with.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OtherVersion {
    #[error(
        "the database has the tables of an older version of Keyward (its newest migration is {newest}), and this command \
         leaves them so: run `{}` or start this version's server to bring it up to date, or use the older version",
        program::command_on_this_database("migrate")
    )]
    Outdated { newest: String },
    #[error(transparent)]
    Unusable(#[from] UnusableSchema),
    #[error(
        "the database has migration {newest}, which this version of Keyward does not know: use the newer version to export \
         and import, which move everything"
    )]
    NewerThanExport { newest: String },
}

/// Which tables a command can work with, besides those of its own version.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tables {
    /// Also those of a newer version that only added to them.
    OwnOrCompatible,
    /// No others: it moves everything there is.
    Own,
}

pub(super) fn refuse_other_versions(state: SchemaState, tables: Tables) -> Result<(), OtherVersion> {
    match state {
        SchemaState::Empty | SchemaState::Current => Ok(()),
        SchemaState::Outdated { newest } => Err(OtherVersion::Outdated { newest }),
        SchemaState::NewerCompatible { newest } if tables == Tables::Own => {
            Err(OtherVersion::NewerThanExport { newest })
        }
        SchemaState::NewerCompatible { newest } => {
            warn_of_newer_tables(&newest);
            Ok(())
        }
        SchemaState::Unusable(unusable) => Err(unusable.into()),
    }
}

pub(crate) fn warn_of_newer_tables(newest: &str) {
    warn!(
        migration = newest,
        hint = "upgrade this server soon; it keeps working until then",
        "database was migrated by a newer, compatible version"
    );
}

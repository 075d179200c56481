//! Errors of any store.

use std::error::Error;

/// Why a store failed.
///
/// The sources are for logs; users are shown only the variant.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// The store does not answer in time, or is full, or read-only. Nothing was changed; asking again later
    /// may help.
    #[error("storage is not available")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
    /// The connection broke or timed out during a change, which may or may not have been committed.
    #[error("storage did not confirm whether the change was made")]
    OutcomeUnknown(#[source] Box<dyn Error + Send + Sync>),
    /// A row breaks a rule of the domain.
    #[error("corrupt row in storage: {table}.{column} of {id}: {problem}")]
    Corrupt {
        /// The table, by its name in the database.
        table: &'static str,
        /// The column that the domain cannot read.
        column: &'static str,
        /// The row's identifier.
        id: String,
        /// Why the value is invalid, without the value.
        problem: String,
    },
    /// Anything else: a defect in the store or its schema. Nothing was changed.
    #[error("storage failed")]
    Defect(#[source] Box<dyn Error + Send + Sync>),
}

impl StorageError {
    /// Whether the store was unavailable or the connection was lost, as opposed to a defect or corrupt data.
    #[must_use]
    pub const fn is_outage(&self) -> bool {
        match self {
            Self::Unavailable(_) | Self::OutcomeUnknown(_) => true,
            Self::Corrupt { .. } | Self::Defect(_) => false,
        }
    }
}

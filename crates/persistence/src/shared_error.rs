//! One error for all who asked together.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use keyward_domain::ports::StorageError;

/// Each copy has the same cause.
#[derive(Clone)]
pub(crate) struct SharedError(Arc<StorageError>);

/// The cause of a copy.
#[derive(Debug)]
pub(crate) struct Shared(Arc<StorageError>);

impl From<StorageError> for SharedError {
    fn from(error: StorageError) -> Self {
        Self(Arc::new(error))
    }
}

impl From<SharedError> for StorageError {
    fn from(SharedError(error): SharedError) -> Self {
        match &*error {
            Self::Corrupt {
                table,
                column,
                id,
                problem,
            } => Self::Corrupt {
                table,
                column,
                id: id.clone(),
                problem: problem.clone(),
            },
            Self::Unavailable(_) => Self::Unavailable(Shared(error).into()),
            Self::OutcomeUnknown(_) => Self::OutcomeUnknown(Shared(error).into()),
            Self::Defect(_) => Self::Defect(Shared(error).into()),
        }
    }
}

impl Shared {
    /// The original error.
    pub(crate) fn error(&self) -> &StorageError {
        &self.0
    }
}

impl fmt::Display for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.source() {
            Some(cause) => fmt::Display::fmt(cause, formatter),
            None => fmt::Display::fmt(&self.0, formatter),
        }
    }
}

impl Error for Shared {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()?.source()
    }
}

#[cfg(test)]
mod tests {
    use keyward_domain::failure_sentence::sentence;

    use super::*;
    use crate::abort::TooSlow;

    #[test]
    fn copies_of_an_error_say_the_same() {
        let corrupt = StorageError::Corrupt {
            table: "users",
            column: "username",
            id: "7".to_owned(),
            problem: "is empty".to_owned(),
        };
        for error in [
            StorageError::Unavailable(TooSlow::Answer.into()),
            StorageError::OutcomeUnknown(TooSlow::Commit.into()),
            StorageError::Defect(Box::new(StorageError::Unavailable(TooSlow::Answer.into()))),
            corrupt,
        ] {
            let (said, is_outage) = (sentence(&error), error.is_outage());
            let shared = SharedError::from(error);
            let copy = StorageError::from(shared.clone());
            assert_eq!((sentence(&copy), copy.is_outage()), (said, is_outage));
        }
    }
}

//! Whether a change can still be withdrawn.

use std::sync::atomic::{AtomicU8, Ordering};

use keyward_domain::ports::StorageError;
use tokio::task::JoinError;

/// The result of a change whose task has ended.
pub(crate) fn settled<T, E: From<StorageError>>(
    finished: Result<Result<T, E>, JoinError>,
    progress: &Progress,
) -> Result<T, E> {
    match finished {
        Ok(outcome) => outcome,
        Err(error) if progress.is_committing() => Err(StorageError::OutcomeUnknown(error.into()).into()),
        // It panicked, or the runtime ends: the transaction is dropped, and rolls back.
        Err(error) => Err(StorageError::Defect(error.into()).into()),
    }
}

/// The state of a change. Committing and withdrawing exclude each other; the first wins.
#[derive(Default)]
pub(crate) struct Progress(AtomicU8);

impl Progress {
    const WORKING: u8 = 0;
    const COMMITTING: u8 = 1;
    const WITHDRAWN: u8 = 2;

    pub(crate) fn begin_commit(&self) -> bool {
        self.leave_work_for(Self::COMMITTING)
    }

    /// After a COMMIT that failed and is tried again.
    pub(crate) fn work_again(&self) {
        let (committing, working) = (Self::COMMITTING, Self::WORKING);
        // If it was withdrawn, it stays withdrawn.
        let _ = self
            .0
            .compare_exchange(committing, working, Ordering::SeqCst, Ordering::SeqCst);
    }

    pub(crate) fn withdraw(&self) -> bool {
        self.leave_work_for(Self::WITHDRAWN)
    }

    pub(crate) fn is_committing(&self) -> bool {
        self.0.load(Ordering::SeqCst) == Self::COMMITTING
    }

    fn leave_work_for(&self, next: u8) -> bool {
        self.0
            .compare_exchange(Self::WORKING, next, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::Progress;

    #[test]
    fn withdrawn_change_never_starts_committing() {
        let progress = Progress::default();
        assert!(progress.withdraw());
        assert!(!progress.begin_commit());
        assert!(!progress.is_committing());
    }

    #[test]
    fn resumed_change_can_be_withdrawn() {
        let progress = Progress::default();
        assert!(progress.begin_commit());
        progress.work_again();
        assert!(!progress.is_committing());
        assert!(progress.withdraw());
        progress.work_again();
        assert!(!progress.begin_commit());
    }

    #[test]
    fn committing_change_can_no_longer_be_withdrawn() {
        let progress = Progress::default();
        assert!(progress.begin_commit());
        assert!(!progress.withdraw());
        assert!(progress.is_committing());
    }
}

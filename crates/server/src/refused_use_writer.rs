//! Reports uses of keys that no longer work, beside the requests.

use std::sync::Arc;

use keyward_domain::ports::StorageError;
use keyward_domain::refused_uses::{RefusedUseReports, RefusedUses};
use tracing::warn;

use crate::background_writer::BackgroundWriter;

/// Writes the uses in [`RefusedUses`] to the audit log.
pub(crate) struct RefusedUseWriter {
    uses: Arc<RefusedUses>,
    reports: RefusedUseReports,
}

impl RefusedUseWriter {
    pub(crate) const fn new(uses: Arc<RefusedUses>, reports: RefusedUseReports) -> Self {
        Self { uses, reports }
    }
}

impl BackgroundWriter for RefusedUseWriter {
    const RECORDS: &'static str = "uses of keys that no longer work";
    const TASK: &'static str = "refused_uses";

    async fn write(&self) -> Result<usize, StorageError> {
        let written = self.reports.write().await;
        let passed_over = self.uses.take_dropped();
        if passed_over > 0 {
            warn!(
                passed_over,
                "too many inactive keys in use: some uses are missing from the audit log"
            );
        }
        written
    }

    async fn write_last(&self) -> Result<usize, StorageError> {
        let mut written = 0;
        // Each call writes only a part of them.
        while self.unwritten() > 0 {
            written += self.write().await?;
        }
        Ok(written)
    }

    fn unwritten(&self) -> usize {
        self.uses.unwritten()
    }
}

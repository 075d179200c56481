//! Revokes the keys of tokens that somebody found, beside the requests.

use keyward_domain::leaked_keys::RevokeLeakedKeys;
use keyward_domain::ports::StorageError;
use tracing::info;

use crate::background_writer::BackgroundWriter;

/// Looks up the tokens of reports that were answered.
pub(crate) struct LeakWriter(RevokeLeakedKeys);

impl LeakWriter {
    pub(crate) const fn new(leaks: RevokeLeakedKeys) -> Self {
        Self(leaks)
    }
}

impl BackgroundWriter for LeakWriter {
    const RECORDS: &'static str = "revocations of leaked keys";
    const TASK: &'static str = "leaked_keys";

    async fn write(&self) -> Result<usize, StorageError> {
        let revoked = self.0.revoke_reported().await?;
        if revoked > 0 {
            info!(revoked, "leaked keys revoked");
        }
        Ok(revoked)
    }

    fn unwritten(&self) -> usize {
        self.0.waiting()
    }
}

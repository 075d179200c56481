//! A check before a revocation, which takes no lock: often there is nothing to revoke.
//!
//! The check only saves work. If it fails or is late, the revocation proceeds without it.

use std::time::Duration;

use keyward_domain::ports::StorageError;
use tokio::time::{Instant, timeout_at};

use crate::task;

/// Returns the answer of the check, if it has one within a quarter of the time for the answer; makes the
/// change otherwise. The change is made even if the caller stops waiting during the check.
pub(crate) async fn before<T, E>(
    begun: Instant,
    answer_timeout: Duration,
    check: impl Future<Output = Result<Option<Result<T, E>>, StorageError>> + Send + 'static,
    change: impl Future<Output = Result<T, E>> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<StorageError> + Send + 'static,
{
    let changing = task::spawn(async move {
        match timeout_at(begun + answer_timeout / 4, check).await {
            Ok(Ok(Some(answer))) => answer,
            Ok(Ok(None) | Err(_)) | Err(_) => change.await,
        }
    });
    match changing.await {
        Ok(changed) => changed,
        Err(error) => Err(StorageError::Defect(error.into()).into()),
    }
}

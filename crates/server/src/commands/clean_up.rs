//! `keyward clean-up`: removes expired records, once.

use keyward_domain::retention::{RetentionClass, RetentionError};
use tokio::time::sleep;

use super::Failure;
use crate::composition::{Composition, sources_of_this_machine};
use crate::options::CleanUpOptions;
use crate::output;
use crate::purge::{Purge, describe_clock_doubt};
use crate::storage;

/// Purges everything past its retention period, and prints how much; or only confirms the clock.
pub(crate) async fn run(options: CleanUpOptions) -> Result<(), Failure> {
    let periods = options.retention.periods()?;
    let database = storage::configured(&options.storage.database)?;
    let description = database.description();
    let store = storage::open_existing_as_owner(database).await?;
    let retention = Composition::new(sources_of_this_machine(), store).retention(periods);
    if options.clock_is_right {
        // A period that this line leaves out would remove what the server keeps.
        retention.begin_by_confirmed_clock().await.map_err(failure)?;
        output::report(&format!(
            "Confirmed this machine's clock for {description}. Nothing was removed; servers continue within the hour."
        ));
        return Ok(());
    }
    let mut run = retention.begin().await.map_err(failure)?;
    let mut has_removed_any = false;
    for kind in RetentionClass::ALL {
        let mut purge = Purge::of(*kind, &mut run);
        let outcome = purge_all(&mut purge).await;
        // Also if a later step failed, because removed records stay removed.
        if purge.removed() > 0 {
            has_removed_any = true;
            output::report(&sentence(*kind, purge.removed()));
        }
        outcome.map_err(failure)?;
    }
    if !has_removed_any {
        output::report(
            "Nothing was removed, because nothing is past its retention period or a server is already removing it.",
        );
    }
    Ok(())
}

fn failure(error: RetentionError) -> Failure {
    match error {
        RetentionError::NotAllowed => Failure::AuditEventsStay,
        RetentionError::Clock(doubt) => Failure::ClockDoubted(describe_clock_doubt(&doubt)),
        RetentionError::Storage(error) => Failure::Storage(error),
    }
}

async fn purge_all(purge: &mut Purge<'_>) -> Result<(), RetentionError> {
    while let Some(pause) = purge.next_batch().await? {
        sleep(pause).await;
    }
    Ok(())
}

fn sentence(kind: RetentionClass, removed: u64) -> String {
    let (one, several) = match kind {
        RetentionClass::DeadKeys => ("dead key", "dead keys"),
        RetentionClass::SurplusKeys => ("surplus ended key", "surplus ended keys"),
        RetentionClass::EndedInvitations => ("ended invitation", "ended invitations"),
        RetentionClass::ExpiredSessions => ("expired session", "expired sessions"),
        RetentionClass::IdempotencyKeys => ("idempotency key", "idempotency keys"),
        RetentionClass::EmptyThrottleBuckets => {
            ("count of attempts to sign in", "counts of attempts to sign in")
        }
        RetentionClass::AuditEvents => ("audit event", "audit events"),
    };
    format!("Removed {removed} {}.", if removed == 1 { one } else { several })
}

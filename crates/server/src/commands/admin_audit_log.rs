//! `keyward admin audit-log`: what happened, for programs and for whoever looks into an incident.

use keyward_console::audit_json_lines;
use keyward_domain::audit::RequestSource;
use keyward_domain::ports::AuditFilter;

use super::Failure;
use super::organization::authority_over;
use crate::composition::{Composition, Sources};
use crate::options::AuditLogOptions;
use crate::output;
use crate::storage;

/// Prints the events that the options name, the latest first. It never holds more than a page of them.
pub(crate) async fn run(options: AuditLogOptions) -> Result<(), Failure> {
    let AuditLogOptions {
        organization,
        since,
        until,
        storage,
    } = options;
    if let (Some(since), Some(until)) = (since, until)
        && until <= since
    {
        return Err(Failure::UntilBeforeSince);
    }
    let store = storage::open_existing(&storage.database).await?;
    let composition = Composition::new(Sources::of_this_machine(), store);
    let filter = AuditFilter {
        from: since,
        until,
        ..AuditFilter::default()
    };
    let trail = composition.audit_trail();
    let mut events = match organization {
        Some(slug) => {
            let authority = authority_over(&composition, &slug).await?;
            trail.export(&authority, filter, RequestSource::default())
        }
        None => trail.export_of_installation(filter),
    };
    while let Some(page) = events.next().await? {
        match output::answer(&audit_json_lines(&page)?) {
            // Whoever reads has seen enough, as `head` has after ten lines.
            Err(error) if error.is_for_want_of_a_reader() => return Ok(()),
            written => written?,
        }
    }
    Ok(())
}

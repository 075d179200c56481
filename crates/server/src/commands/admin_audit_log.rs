//! `keyward admin audit-log`: prints audit events as JSON Lines.

mod follow;

use keyward_audit_export::json_lines;
use keyward_domain::administration::{AuditExport, Authority, FeedStart, FollowedLog};
use keyward_domain::audit::RequestSource;
use keyward_domain::ports::AuditFilter;

use super::Failure;
use super::organization::authority_over;
use crate::composition::{Composition, sources_of_this_machine};
use crate::options::AuditLogOptions;
use crate::output;
use crate::storage;

/// Prints the events that the options select: the latest first or, with `--follow` or `--after`, in the order
/// of commits. At most one page of events is held in memory.
pub(crate) async fn run(options: AuditLogOptions) -> Result<(), Failure> {
    let AuditLogOptions {
        organization,
        since,
        until,
        follow,
        after,
        all,
        storage,
    } = options;
    if let (Some(since), Some(until)) = (since, until)
        && until <= since
    {
        return Err(Failure::UntilBeforeSince);
    }
    let filter = AuditFilter {
        from: since,
        until,
        ..AuditFilter::default()
    };
    let start = after.unwrap_or(FeedStart::Beginning);
    let log = |authority: Option<&Authority>| match authority {
        Some(authority) => FollowedLog::of_organization(authority),
        None if all => FollowedLog::ALL,
        None => FollowedLog::INSTALLATION,
    };
    if follow {
        let store = storage::open_to_follow(&storage.database);
        return follow::follow(store, async |store, outage| {
            let composition = Composition::new(sources_of_this_machine(), store);
            let authority = match &organization {
                Some(slug) => Some(outage.wait_for_authority(&composition, slug).await?),
                None => None,
            };
            Ok(composition.audit_follower(log(authority.as_ref()), filter, start))
        })
        .await;
    }
    let store = storage::open_existing(&storage.database).await?;
    let composition = Composition::new(sources_of_this_machine(), store);
    let authority = match organization {
        Some(slug) => Some(authority_over(&composition, &slug).await?),
        None => None,
    };
    if after.is_some() {
        let follower = composition.audit_follower(log(authority.as_ref()), filter, start);
        return follow::print_to_the_end(follower).await;
    }
    let trail = composition.audit_trail();
    print(match &authority {
        Some(authority) => trail.export(authority, filter, RequestSource::default()),
        None => trail.export_of_installation(filter),
    })
    .await
}

async fn print(mut events: AuditExport) -> Result<(), Failure> {
    while let Some(page) = events.next().await? {
        match output::answer(&json_lines::of_page(&page)?) {
            // The reader has closed the pipe, as `head` does after ten lines.
            Err(error) if error.is_broken_pipe() => return Ok(()),
            written => written?,
        }
    }
    Ok(())
}

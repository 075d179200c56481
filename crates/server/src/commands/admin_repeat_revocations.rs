//! `keyward admin repeat-revocations`: repeats in a restored database what took access away after the backup.

mod changes;
mod events;
mod left_to_people;
mod repetition;
mod summary;

use std::io::{self, IsTerminal};

use self::left_to_people::LeftToPeople;
use self::repetition::Repetition;
use self::summary::Summary;
use super::Failure;
use crate::composition::{Composition, sources_of_this_machine};
use crate::options::RepeatRevocationsOptions;
use crate::output;
use crate::storage;

/// Reads the audit log from standard input to its end, then repeats its removals. Those already in effect are
/// skipped.
pub(crate) async fn run(options: RepeatRevocationsOptions) -> Result<(), Failure> {
    let RepeatRevocationsOptions { since, storage } = options;
    if io::stdin().is_terminal() {
        return Err(Failure::AuditLogFromTerminal);
    }
    let store = storage::open_existing(&storage.database).await?;
    let sources = sources_of_this_machine();
    let log = events::read(io::stdin().lock(), since)?;
    let ends_within = log.removals.end_within(&*store, |event| log.has_place_for(event));
    if ends_within.await? {
        return Err(Failure::AuditLogWithinThisDatabase);
    }
    let now = sources.now();
    let to_repeat = log.removals.to_repeat(now);
    let composition = Composition::new(sources, store);
    let mut summary = Summary::of(&to_repeat);
    let mut left = LeftToPeople::default();
    if let Err(error) = left.of_users(&composition, &to_repeat.manual).await {
        summary.failed("Whose passwords and sessions are left is not known", &error);
    }
    // Only users of this database are listed as left, so the log is of this database.
    let mut is_log_known = !left.is_nothing();
    for organization in composition.accounts().organizations().await? {
        is_log_known |= log.organizations.contains(&organization.id);
        let outcome = async {
            let repetition = Repetition::find(&composition, &organization, &to_repeat, now).await?;
            is_log_known |= repetition.has_something();
            let repeated = repetition.repeat_all(&mut summary).await;
            left.of_organization(&repetition).await?;
            repeated
        };
        if let Err(error) = outcome.await {
            summary.failed(
                &format!("Not everything was repeated in {}", organization.slug),
                &error,
            );
        }
    }
    if !is_log_known && !summary.has_failed {
        return Err(Failure::AuditLogUnrelated);
    }
    // Also if nothing had to be repeated: an earlier run may have been interrupted while it waited.
    composition.members().gone_everywhere().await;
    for line in summary.lines().chain(left.lines()) {
        output::report(&line);
    }
    if summary.is_complete() && left.is_nothing() {
        Ok(())
    } else {
        Err(Failure::ChangesLeft)
    }
}

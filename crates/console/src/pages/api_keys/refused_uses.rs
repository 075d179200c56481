//! Uses of the holder's keys that no longer work.

use keyward_domain::audit::Subject;
use keyward_domain::holder::Holder;

use crate::Console;
use crate::forms::Fields;
use crate::pages::moment::Moment;
use crate::refusal::Refusal;

/// Somebody used a key that no longer works.
pub(super) struct RefusedUse {
    pub(super) key: String,
    pub(super) at: Moment,
    pub(super) address: Option<String>,
}

/// The latest ones, the latest first; only on the first page of an unsearched list.
pub(super) async fn refused_uses(
    console: &Console,
    holder: &Holder,
    query: &Fields,
) -> Result<Vec<RefusedUse>, Refusal> {
    if ["search", "after"]
        .into_iter()
        .any(|name| query.optional(name).is_some())
    {
        return Ok(Vec::new());
    }
    let found = console.audit_trail.refused_uses(holder).await?;
    let uses = found.events.items.iter().filter_map(|event| {
        let Subject::ApiKey(id) = event.subject else {
            return None;
        };
        let name = found.names.get(&event.subject);
        Some(RefusedUse {
            key: name.cloned().unwrap_or_else(|| id.to_string()),
            at: Moment(event.at),
            address: event.source.address.map(|address| address.to_string()),
        })
    });
    Ok(uses.collect())
}

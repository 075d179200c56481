//! Uses of the viewer's keys that no longer work.

use keyward_domain::administration::AuditPage;
use keyward_domain::audit::AuditEvent;
use keyward_domain::token::TokenHint;

use crate::pages::list::List;
use crate::reader::Member;
use crate::refusal::Refusal;

/// Recent uses, the latest first; only on the first page of a list without a search.
pub(super) async fn refused_uses<Id: Sync>(
    member: &Member,
    list: &List<Id>,
) -> Result<Option<AuditPage>, Refusal> {
    if !list.search.is_empty() || list.after.is_some() {
        return Ok(None);
    }
    let found = member.console.audit_trail.refused_uses(&member.member).await?;
    Ok(Some(found).filter(|found| !found.events.items.is_empty()))
}

/// The name of the key that was used, or its identifier if the key was removed.
pub(super) fn key_in(event: &AuditEvent, found: &AuditPage) -> String {
    let name = found.names.get(&event.subject).map(|named| named.name.clone());
    name.unwrap_or_else(|| event.subject.id().map(|id| id.to_string()).unwrap_or_default())
}

/// The hint of that key, because several keys may have its name, such as its successor after a rotation.
pub(super) fn hint_in<'found>(event: &AuditEvent, found: &'found AuditPage) -> Option<&'found TokenHint> {
    found.names.get(&event.subject)?.hint.as_ref()
}

//! Which members of an organization are in a project.

use std::collections::HashSet;

use keyward_domain::administration::{Authority, Projects};
use keyward_domain::id::{MembershipId, ProjectId};
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::StorageError;
use uuid::Uuid;

/// Those of some members, the newest first, that are in a project.
///
/// It reads the project's members, who are in the same order, only around those that are asked for: a page of them for
/// neighbours, at most one each for strangers.
pub(super) async fn members_among(
    projects: &Projects,
    authority: &Authority,
    project: ProjectId,
    newest_first: &[MembershipId],
) -> Result<HashSet<MembershipId>, StorageError> {
    let mut inside = HashSet::new();
    // All members of the project from here on are not known yet; none is if there are no more.
    let mut read_down_to = None;
    let mut has_more = true;
    for id in newest_first {
        if has_more && read_down_to.is_none_or(|last| *id < last) {
            let request = PageRequest {
                size: PageSize::DEFAULT,
                after: Some(before(*id)),
            };
            let page = projects.members(authority, project, request).await?;
            inside.extend(page.items.iter().map(|member| member.membership.id));
            read_down_to = page.next;
            has_more = page.next.is_some();
        }
    }
    inside.retain(|id| newest_first.contains(id));
    Ok(inside)
}

/// What would come right before this member in a list, the newest first.
const fn before(id: MembershipId) -> MembershipId {
    MembershipId::from_uuid(Uuid::from_u128(id.as_uuid().as_u128().saturating_add(1)))
}

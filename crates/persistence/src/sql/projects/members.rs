//! Who is in a project.

use std::convert::Infallible;

use chrono::{DateTime, Utc};
use diesel::dsl::exists;
use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use keyward_domain::administration::ports::{ChangeProjectMembersError, MemberProfile};
use keyward_domain::audit::Act;
use keyward_domain::id::{MembershipId, OrganizationId, ProjectId};
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::StorageError;

use super::super::authority::lock_authority;
use super::super::dialect::{Connection, RunQueryDsl};
use super::super::members::live::lock_live_member;
use super::super::people::{MembershipRow, UserRow, profile};
use super::super::schema::{memberships, project_members, projects, users};
use super::super::validity::membership_is_live;
use crate::abort::Abort;
use crate::columns::StoredId;
use crate::limit::one_more;

pub(super) async fn list(
    connection: &mut Connection,
    organization: OrganizationId,
    id: ProjectId,
    page: PageRequest<MembershipId>,
    now: DateTime<Utc>,
) -> Result<Page<MemberProfile, MembershipId>, Abort<Infallible>> {
    let mut query = project_members::table
        .inner_join(projects::table)
        .inner_join(memberships::table.inner_join(users::table))
        .filter(projects::organization_id.eq(StoredId(organization.as_uuid())))
        .filter(project_members::project_id.eq(StoredId(id.as_uuid())))
        .filter(membership_is_live(now.into()))
        .order(project_members::membership_id.desc())
        .limit(one_more(page.size))
        .select((UserRow::as_select(), MembershipRow::as_select()))
        .into_boxed();
    if let Some(after) = page.after {
        query = query.filter(project_members::membership_id.lt(StoredId(after.as_uuid())));
    }
    let rows: Vec<(UserRow, MembershipRow)> = query.load(connection).await?;
    let members: Result<Vec<MemberProfile>, StorageError> = rows.into_iter().map(profile).collect();
    Ok(Page::from_one_more(members?, page.size, |member| {
        member.membership.id
    }))
}

/// Locks the organization and checks the actor's authority, the project and the member, who stays one until
/// this transaction ends. Returns the act at the moment at which it has the lock.
pub(super) async fn lock(
    connection: &mut Connection,
    organization: OrganizationId,
    id: ProjectId,
    member: MembershipId,
    act: Act,
) -> Result<Act, Abort<ChangeProjectMembersError>> {
    let act = lock_authority(connection, organization, act).await?;
    let act = act.ok_or(Abort::Refused(ChangeProjectMembersError::NotAllowed))?;
    let project_exists: bool = diesel::select(exists(
        projects::table
            .filter(projects::organization_id.eq(StoredId(organization.as_uuid())))
            .filter(projects::id.eq(StoredId(id.as_uuid()))),
    ))
    .get_result(connection)
    .await?;
    if !project_exists {
        return Err(Abort::Refused(ChangeProjectMembersError::ProjectNotFound));
    }
    match lock_live_member(connection, organization, member, act.at).await? {
        Some(_) => Ok(act),
        None => Err(Abort::Refused(ChangeProjectMembersError::MemberNotFound)),
    }
}

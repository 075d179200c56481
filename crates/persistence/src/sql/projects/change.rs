//! The parts that changes of a project share.

use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use keyward_domain::administration::ports::ChangeProjectError;
use keyward_domain::audit::AuditEvent;
use keyward_domain::id::{OrganizationId, ProjectId};
use keyward_domain::project::Project;

use super::super::authority::lock_authority;
use super::super::dialect::{Connection, RunQueryDsl};
use super::super::schema::projects;
use super::row::ProjectRow;
use crate::abort::Abort;
use crate::columns::{StoredId, StoredMoment};

/// Locks the project until this transaction ends, if the actor may change it.
pub(super) async fn to_be_changed(
    connection: &mut Connection,
    organization: OrganizationId,
    id: ProjectId,
    event: &AuditEvent,
) -> Result<Project, Abort<ChangeProjectError>> {
    if !lock_authority(connection, organization, event.actor, event.at).await? {
        return Err(Abort::Refused(ChangeProjectError::NotAllowed));
    }
    let row: Option<ProjectRow> = projects::table
        .filter(projects::organization_id.eq(StoredId(organization.as_uuid())))
        .filter(projects::id.eq(StoredId(id.as_uuid())))
        .select(ProjectRow::as_select())
        .get_result(connection)
        .await
        .optional()?;
    let row = row.ok_or(Abort::Refused(ChangeProjectError::NotFound))?;
    Ok(Project::try_from(row)?)
}

pub(super) async fn set_archived_at(
    connection: &mut Connection,
    id: ProjectId,
    moment: Option<DateTime<Utc>>,
) -> Result<(), diesel::result::Error> {
    diesel::update(projects::table.filter(projects::id.eq(StoredId(id.as_uuid()))))
        .set(projects::archived_at.eq(moment.map(StoredMoment::from)))
        .execute(connection)
        .await?;
    Ok(())
}

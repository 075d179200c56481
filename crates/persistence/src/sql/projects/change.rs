//! Adding, renaming, archiving and restoring projects.

use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use keyward_domain::administration::ports::{AddProjectError, ChangeProjectError};
use keyward_domain::audit::AuditEvent;
use keyward_domain::id::{OrganizationId, ProjectId};
use keyward_domain::project::{NewProject, Project, ProjectName};

use super::super::authority::lock_authority;
use super::super::dialect::{Connection, RunQueryDsl};
use super::super::events::write_event;
use super::super::schema::projects;
use super::row::{NewProjectRow, ProjectRow};
use crate::abort::Abort;
use crate::columns::{StoredId, StoredMoment};

pub(super) async fn add(
    connection: &mut Connection,
    new: NewProject,
    event: AuditEvent,
) -> Result<(), Abort<AddProjectError>> {
    let organization = new.project.organization_id;
    if !lock_authority(connection, organization, event.actor, event.at).await? {
        return Err(Abort::Refused(AddProjectError::NotAllowed));
    }
    // Until this transaction ends, no other adds projects to the organization.
    let scope = organization.as_uuid();
    let first = created_with!(connection, projects.organization_id, scope, new.idempotency_key);
    if let Some(first) = first {
        return Err(Abort::Refused(AddProjectError::AlreadyCreated(
            ProjectId::from_uuid(first),
        )));
    }
    diesel::insert_into(projects::table)
        .values(NewProjectRow::from(new))
        .execute(connection)
        .await?;
    write_event(connection, event).await?;
    Ok(())
}

pub(super) async fn rename(
    connection: &mut Connection,
    organization: OrganizationId,
    id: ProjectId,
    name: ProjectName,
    event: AuditEvent,
) -> Result<(), Abort<ChangeProjectError>> {
    let before = to_be_changed(connection, organization, id, &event).await?;
    let after = Project {
        name,
        ..before.clone()
    };
    if after != before {
        diesel::update(projects::table.filter(projects::id.eq(StoredId(id.as_uuid()))))
            .set((
                projects::name.eq(after.name.as_str()),
                projects::search_text.eq(after.search_text()),
            ))
            .execute(connection)
            .await?;
        write_event(connection, event).await?;
    }
    Ok(())
}

pub(super) async fn archive(
    connection: &mut Connection,
    organization: OrganizationId,
    id: ProjectId,
    event: AuditEvent,
) -> Result<(), Abort<ChangeProjectError>> {
    let before = to_be_changed(connection, organization, id, &event).await?;
    if before.is_active() {
        set_archived_at(connection, id, Some(event.at)).await?;
        write_event(connection, event).await?;
    }
    Ok(())
}

pub(super) async fn restore(
    connection: &mut Connection,
    organization: OrganizationId,
    id: ProjectId,
    event: AuditEvent,
) -> Result<(), Abort<ChangeProjectError>> {
    let before = to_be_changed(connection, organization, id, &event).await?;
    if !before.is_active() {
        set_archived_at(connection, id, None).await?;
        write_event(connection, event).await?;
    }
    Ok(())
}

/// Locks the project until this transaction ends, if the actor may change it.
async fn to_be_changed(
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

async fn set_archived_at(
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

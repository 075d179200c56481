//! Adding, renaming, archiving and restoring projects.

use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, RunQueryDsl, SelectableHelper, SqliteConnection};
use keyward_domain::administration::ports::{AddProjectError, ChangeProjectError};
use keyward_domain::audit::AuditEvent;
use keyward_domain::id::{OrganizationId, ProjectId};
use keyward_domain::project::{Project, ProjectName};

use super::row::{NewProjectRow, ProjectRow};
use crate::abort::Abort;
use crate::sqlite::audit_log::write_event;
use crate::sqlite::authority::may_administer;
use crate::sqlite::columns::StoredId;
use crate::sqlite::schema::projects;

pub(super) fn add(
    connection: &mut SqliteConnection,
    project: Project,
    event: AuditEvent,
) -> Result<(), Abort<AddProjectError>> {
    if !may_administer(connection, project.organization_id, event.actor)? {
        return Err(Abort::Refused(AddProjectError::NotAllowed));
    }
    diesel::insert_into(projects::table)
        .values(NewProjectRow::from(project))
        .execute(connection)?;
    write_event(connection, event)?;
    Ok(())
}

pub(super) fn rename(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    id: ProjectId,
    name: ProjectName,
    event: AuditEvent,
) -> Result<(), Abort<ChangeProjectError>> {
    let before = to_be_changed(connection, organization, id, &event)?;
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
            .execute(connection)?;
        write_event(connection, event)?;
    }
    Ok(())
}

pub(super) fn archive(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    id: ProjectId,
    event: AuditEvent,
) -> Result<(), Abort<ChangeProjectError>> {
    let before = to_be_changed(connection, organization, id, &event)?;
    if before.is_active() {
        set_archived_at(connection, id, Some(event.at))?;
        write_event(connection, event)?;
    }
    Ok(())
}

pub(super) fn restore(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    id: ProjectId,
    event: AuditEvent,
) -> Result<(), Abort<ChangeProjectError>> {
    let before = to_be_changed(connection, organization, id, &event)?;
    if !before.is_active() {
        set_archived_at(connection, id, None)?;
        write_event(connection, event)?;
    }
    Ok(())
}

/// The project, if whoever acts may change it. It stays as it is until the end of this transaction.
fn to_be_changed(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    id: ProjectId,
    event: &AuditEvent,
) -> Result<Project, Abort<ChangeProjectError>> {
    if !may_administer(connection, organization, event.actor)? {
        return Err(Abort::Refused(ChangeProjectError::NotAllowed));
    }
    let row: Option<ProjectRow> = projects::table
        .filter(projects::organization_id.eq(StoredId(organization.as_uuid())))
        .filter(projects::id.eq(StoredId(id.as_uuid())))
        .select(ProjectRow::as_select())
        .get_result(connection)
        .optional()?;
    let row = row.ok_or(Abort::Refused(ChangeProjectError::NotFound))?;
    Ok(Project::try_from(row)?)
}

fn set_archived_at(
    connection: &mut SqliteConnection,
    id: ProjectId,
    moment: Option<DateTime<Utc>>,
) -> Result<(), diesel::result::Error> {
    diesel::update(projects::table.filter(projects::id.eq(StoredId(id.as_uuid()))))
        .set(projects::archived_at.eq(moment.map(|at| at.timestamp_millis())))
        .execute(connection)?;
    Ok(())
}

//! Changing a project.

use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use keyward_domain::administration::ports::ChangeProjectError;
use keyward_domain::audit::Act;
use keyward_domain::id::{OrganizationId, ProjectId};
use keyward_domain::project::{Project, ProjectChange};

use super::super::authority::lock_authority;
use super::super::dialect::{Connection, RunQueryDsl};
use super::super::events::write_event;
use super::super::schema::projects;
use super::row::ProjectRow;
use crate::abort::Abort;
use crate::columns::{StoredId, StoredMoment};

pub(super) async fn change(
    connection: &mut Connection,
    organization: OrganizationId,
    id: ProjectId,
    change: ProjectChange,
    act: Act,
) -> Result<(), Abort<ChangeProjectError>> {
    // Until this transaction ends, no other changes projects of the organization.
    let act = lock_authority(connection, organization, act).await?;
    let act = act.ok_or(Abort::Refused(ChangeProjectError::NotAllowed))?;
    let row: Option<ProjectRow> = projects::table
        .filter(projects::organization_id.eq(StoredId(organization.as_uuid())))
        .filter(projects::id.eq(StoredId(id.as_uuid())))
        .select(ProjectRow::as_select())
        .get_result(connection)
        .await
        .optional()?;
    let row = row.ok_or(Abort::Refused(ChangeProjectError::NotFound))?;
    let before = Project::try_from(row)?;
    let event = act.change_of_project(id, &change);
    let after = before.clone().after(change, act.at);
    if after == before {
        return Ok(());
    }
    let new_name = (after.name != before.name).then(|| {
        (
            projects::name.eq(after.name.as_str()),
            projects::search_text.eq(after.search_text()),
        )
    });
    let new_archival = (after.archived_at != before.archived_at)
        .then(|| projects::archived_at.eq(after.archived_at.map(StoredMoment::from)));
    diesel::update(projects::table.filter(projects::id.eq(StoredId(id.as_uuid()))))
        .set((new_name, new_archival))
        .execute(connection)
        .await?;
    write_event(connection, event).await?;
    Ok(())
}

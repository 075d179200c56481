//! What organizations have chosen for themselves.

use async_trait::async_trait;
use diesel::prelude::{ExpressionMethods, QueryDsl, RunQueryDsl, SqliteConnection};
use keyward_domain::administration::ports::{ChangeOrganizationError, OrganizationStore};
use keyward_domain::audit::Act;
use keyward_domain::id::OrganizationId;

use super::audit_log::write_event;
use super::authority::may_administer;
use super::columns::StoredId;
use super::schema::organizations;
use super::store::SqliteStore;
use crate::abort::Abort;

#[async_trait]
impl OrganizationStore for SqliteStore {
    async fn choose_for_new_keys(
        &self,
        organization: OrganizationId,
        manage_keys: bool,
        act: Act,
    ) -> Result<(), ChangeOrganizationError> {
        self.change(move |connection| choose_for_new_keys(connection, organization, manage_keys, act))
            .await
    }
}

fn choose_for_new_keys(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    manage_keys: bool,
    act: Act,
) -> Result<(), Abort<ChangeOrganizationError>> {
    if !may_administer(connection, organization, act.actor)? {
        return Err(Abort::Refused(ChangeOrganizationError::NotAllowed));
    }
    let chosen = i64::from(manage_keys);
    let changed = diesel::update(
        organizations::table
            .filter(organizations::id.eq(StoredId(organization.as_uuid())))
            .filter(organizations::new_keys_manage_keys.ne(chosen)),
    )
    .set(organizations::new_keys_manage_keys.eq(chosen))
    .execute(connection)?;
    if changed > 0 {
        write_event(connection, act.choice_for_new_keys(organization, manage_keys))?;
    }
    Ok(())
}

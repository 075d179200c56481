//! Settings of organizations.

use async_trait::async_trait;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use keyward_domain::administration::ports::{ChangeOrganizationError, OrganizationStore};
use keyward_domain::api_key::LongestLife;
use keyward_domain::audit::Act;
use keyward_domain::id::OrganizationId;

use super::authority::lock_authority;
use super::dialect::{Connection, RunQueryDsl, Store};
use super::events::write_event;
use super::people::{longest_life, stored_life};
use super::schema::organizations;
use crate::abort::Abort;
use crate::columns::{StoredFlag, StoredId, StoredNumber};
use crate::stored_row::StoredRow;

#[async_trait]
impl OrganizationStore for Store {
    async fn set_default_for_new_keys(
        &self,
        organization: OrganizationId,
        manage_keys: bool,
        act: Act,
    ) -> Result<(), ChangeOrganizationError> {
        change!(self, |connection| {
            let act = lock_authority(connection, organization, act).await?;
            let act = act.ok_or(Abort::Refused(ChangeOrganizationError::NotAllowed))?;
            let changed = diesel::update(
                organizations::table
                    .filter(organizations::id.eq(StoredId(organization.as_uuid())))
                    .filter(organizations::new_keys_manage_keys.ne(StoredFlag(manage_keys))),
            )
            .set(organizations::new_keys_manage_keys.eq(StoredFlag(manage_keys)))
            .execute(connection)
            .await?;
            if changed > 0 {
                write_event(connection, act.choice_for_new_keys(organization, manage_keys)).await?;
            }
            Ok(())
        })
    }

    async fn limit_key_life(
        &self,
        organization: OrganizationId,
        longest: Option<LongestLife>,
        act: Act,
    ) -> Result<(), ChangeOrganizationError> {
        change!(self, |connection| {
            let act = lock_authority(connection, organization, act).await?;
            let act = act.ok_or(Abort::Refused(ChangeOrganizationError::NotAllowed))?;
            let before = longest_life_of(connection, organization).await?;
            if before == longest {
                return Ok(());
            }
            let this = organizations::table.filter(organizations::id.eq(StoredId(organization.as_uuid())));
            diesel::update(this)
                .set(organizations::longest_key_life_days.eq(longest.map(stored_life)))
                .execute(connection)
                .await?;
            write_event(connection, act.limit_of_key_life(organization, before, longest)).await?;
            Ok(())
        })
    }
}

/// The longest life that this organization has chosen for its keys.
pub(super) async fn longest_life_of<E>(
    connection: &mut Connection,
    organization: OrganizationId,
) -> Result<Option<LongestLife>, Abort<E>> {
    let days: Option<StoredNumber> = organizations::table
        .filter(organizations::id.eq(StoredId(organization.as_uuid())))
        .select(organizations::longest_key_life_days)
        .get_result(connection)
        .await?;
    let stored = StoredRow::new("organizations", organization.as_uuid());
    Ok(longest_life(&stored, days)?)
}

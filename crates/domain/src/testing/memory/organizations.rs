use async_trait::async_trait;

use super::MemoryStore;
use crate::administration::ports::{ChangeOrganizationError, OrganizationStore};
use crate::audit::Act;
use crate::id::OrganizationId;

#[async_trait]
impl OrganizationStore for MemoryStore {
    async fn choose_for_new_keys(
        &self,
        organization: OrganizationId,
        manage_keys: bool,
        act: Act,
    ) -> Result<(), ChangeOrganizationError> {
        let mut state = self.state()?;
        if !state.may_administer(organization, act.actor, act.at) {
            return Err(ChangeOrganizationError::NotAllowed);
        }
        let changes = state
            .organization(organization)
            .is_some_and(|stored| stored.new_keys_manage_keys != manage_keys);
        if !changes {
            return Ok(());
        }
        state.write(vec![act.choice_for_new_keys(organization, manage_keys)])?;
        for stored in &mut state.organizations {
            if stored.id == organization {
                stored.new_keys_manage_keys = manage_keys;
            }
        }
        Ok(())
    }
}

use async_trait::async_trait;

use super::MemoryStore;
use crate::administration::ports::{ChangeOrganizationError, OrganizationStore};
use crate::api_key::LongestLife;
use crate::audit::Act;
use crate::id::OrganizationId;

#[async_trait]
impl OrganizationStore for MemoryStore {
    async fn set_default_for_new_keys(
        &self,
        organization: OrganizationId,
        manage_keys: bool,
        act: Act,
    ) -> Result<(), ChangeOrganizationError> {
        let mut state = self.state()?;
        let act = act.at_current_time();
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

    async fn limit_key_life(
        &self,
        organization: OrganizationId,
        longest: Option<LongestLife>,
        act: Act,
    ) -> Result<(), ChangeOrganizationError> {
        let mut state = self.state()?;
        let act = act.at_current_time();
        if !state.may_administer(organization, act.actor, act.at) {
            return Err(ChangeOrganizationError::NotAllowed);
        }
        let stored = state.organization(organization);
        let before = stored.and_then(|stored| stored.longest_key_life);
        if before == longest {
            return Ok(());
        }
        state.write(vec![act.limit_of_key_life(organization, before, longest)])?;
        for stored in &mut state.organizations {
            if stored.id == organization {
                stored.longest_key_life = longest;
            }
        }
        Ok(())
    }
}

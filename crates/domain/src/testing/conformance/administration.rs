//! What the ports of running an organization promise.

pub(super) mod accept_invitation_cases;
pub(super) mod audit_feed_cases;
pub(super) mod change_project_cases;
pub(super) mod change_role_cases;
pub(super) mod concurrent_member_cases;
pub(super) mod end_membership_cases;
pub(super) mod invitation_cases;
pub(super) mod invitation_form_cases;
pub(super) mod inviter_cases;
mod key_scene;
pub(super) mod last_use_cases;
pub(super) mod list_member_cases;
pub(super) mod list_project_cases;
pub(super) mod name_cases;
pub(super) mod new_key_choice_cases;
pub(super) mod organization_key_cases;
pub(super) mod project_member_cases;
pub(super) mod reachable_project_cases;
pub(super) mod return_cases;
pub(super) mod revoke_many_cases;
mod scene;

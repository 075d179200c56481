//! Why the made-up data is not there.

use keyward_domain::access::AuthenticateError;
use keyward_domain::administration::RevocationStopped;
use keyward_domain::administration::ports::{
    AddInvitationError, AddProjectError, ChangeOrganizationError, ChangeProjectError,
    ChangeProjectMembersError, ChangeRoleError, EndMembershipError, RevokeInvitationError, RevokeKeysError,
};
use keyward_domain::keys::{AddKeyError, EditKeyError, RevokeKeyError};
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::accounts::CreateOrganizationError;
use keyward_domain::sign_in::own_account::ChangeOwnPasswordError;
use keyward_domain::sign_in::ports::{AcceptAsNewcomerError, AcceptAsUserError};
use keyward_domain::sign_in::setup::CompleteSetupError;
use keyward_domain::sign_in::signing_in::SignInError;
use keyward_domain::text::TextError;
use keyward_domain::user::InvalidUsername;

/// But for the first three, a test of the data would have failed before.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FillError {
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Setup(#[from] CompleteSetupError),
    #[error(transparent)]
    Invite(#[from] AddInvitationError),
    #[error(transparent)]
    JoinAsNewcomer(#[from] AcceptAsNewcomerError),
    #[error(transparent)]
    JoinAsUser(#[from] AcceptAsUserError),
    #[error(transparent)]
    CreateOrganization(#[from] CreateOrganizationError),
    #[error(transparent)]
    TakeBack(#[from] RevokeInvitationError),
    #[error(transparent)]
    ChangeRole(#[from] ChangeRoleError),
    #[error(transparent)]
    ChangeOrganization(#[from] ChangeOrganizationError),
    #[error(transparent)]
    SignIn(#[from] SignInError),
    #[error(transparent)]
    ChangePassword(#[from] ChangeOwnPasswordError),
    #[error(transparent)]
    EndMembership(#[from] EndMembershipError),
    #[error(transparent)]
    CreateProject(#[from] AddProjectError),
    #[error(transparent)]
    ChangeProject(#[from] ChangeProjectError),
    #[error(transparent)]
    ChangeProjectMembers(#[from] ChangeProjectMembersError),
    #[error(transparent)]
    Issue(#[from] AddKeyError),
    #[error(transparent)]
    Edit(#[from] EditKeyError),
    #[error(transparent)]
    Revoke(#[from] RevokeKeyError),
    #[error(transparent)]
    RevokeOthers(#[from] RevocationStopped),
    #[error(transparent)]
    RevokeLeaked(#[from] RevokeKeysError),
    #[error(transparent)]
    Authenticate(#[from] AuthenticateError),
    #[error(transparent)]
    Text(#[from] TextError),
    #[error(transparent)]
    Username(#[from] InvalidUsername),
    #[error("{0} still works")]
    Works(String),
    #[error("nobody made {0} before")]
    Missing(String),
}

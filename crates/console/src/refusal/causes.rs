//! The answer for each error of the use cases. An error for which a page has an answer of its own is a defect if it
//! gets here.

use std::error::Error;

use keyward_domain::administration::ExportAuditLogError;
use keyward_domain::administration::ports::{
    AddInvitationError, AddProjectError, ChangeMembershipExpiryError, ChangeOrganizationError,
    ChangeProjectError, ChangeProjectMembersError, ChangeRoleError, EndMembershipError,
    RevokeInvitationError, RevokeKeysError,
};
use keyward_domain::keys::{AddKeyError, ReadKeyError, RevokeKeyError, RotateKeyError};
use keyward_domain::ports::{EditKeyError, StorageError};
use keyward_domain::sign_in::own_account::{ChangeOwnPasswordError, EndSessionError};
use keyward_domain::sign_in::ports::{AcceptAsNewcomerError, AcceptAsUserError};
use keyward_domain::sign_in::setup::CompleteSetupError;
use keyward_domain::sign_in::signing_in::SignInError;

use super::Refusal;

impl Refusal {
    fn unanswered(error: impl Error + Send + Sync + 'static) -> Self {
        StorageError::Defect(Box::new(error)).into()
    }
}

/// `Error { nothing is there } { what its page answers } { what failed }`
macro_rules! refused {
    ($(
        $error:ident
        { $($nothing:ident)* } { $($answered:ident $(($any:tt))?),* } { $($failed:ident)+ }
    )+) => {$(
        impl From<$error> for Refusal {
            fn from(error: $error) -> Self {
                match error {
                    $($error::$failed(error) => error.into(),)+
                    $($error::$nothing => Self::NotFound,)*
                    $(error @ $error::$answered $(($any))? => Self::unanswered(error),)*
                }
            }
        }
    )+};
}

refused! {
    ReadKeyError { NotFound } {} { Storage }
    // The first ones concern only keys that create keys: a signed-in user may always manage their keys, and begins each
    // key tree.
    AddKeyError
        { MayNotManageKeys TreeTooDeep HolderGone IdempotencyKeyReused InProgress }
        { AlreadyCreated(_), LimitReached(_), Throttled(_), InvalidExpiry(_) } { Storage }
    EditKeyError { HolderGone NotFound } { Throttled(_), Revoked, PreconditionFailed, CannotExtendLife(_), InvalidExpiry(_) } { Storage }
    RotateKeyError
        { MayNotManageKeys TreeTooDeep HolderGone NotFound IdempotencyKeyReused InProgress }
        { AlreadyCreated(_), AlreadyRotated(_), Throttled(_), Revoked, InvalidExpiry(_), CannotExtendLife(_) } { Storage }
    RevokeKeyError { HolderGone NotFound } { PreconditionFailed } { Storage }
    RevokeKeysError { NotAllowed } {} { Storage }
    ChangeOrganizationError { NotAllowed } {} { Throttled Storage }
    ChangeRoleError { NotAllowed NotFound } { LastOwner } { Throttled Storage }
    ChangeMembershipExpiryError { NotAllowed NotFound } { InvalidExpiry(_), LastOwner } { Throttled Storage }
    EndMembershipError { NotAllowed NotFound } { LastOwner } { Storage }
    AddInvitationError { NotAllowed } { AlreadyCreated(_), LimitReached } { Throttled Storage }
    RevokeInvitationError { NotAllowed NotFound } { Accepted } { Storage }
    AddProjectError { NotAllowed } { AlreadyCreated(_) } { Throttled Storage }
    ChangeProjectError { NotAllowed NotFound } {} { Throttled Storage }
    ChangeProjectMembersError { NotAllowed ProjectNotFound MemberNotFound } {} { Throttled Storage }
    ExportAuditLogError {} {} { Throttled Storage }
    EndSessionError { NotFound } {} { Storage }
    ChangeOwnPasswordError {} { WrongPassword, Throttled(_) } { Hashing Storage }
    SignInError {} { WrongCredentials, Throttled(_) } { Hashing Storage }
    CompleteSetupError {} { LinkInvalid, AlreadySetUp } { Hashing Storage }
    AcceptAsNewcomerError {} { NotOpen, UsernameTaken, Throttled(_) } { Hashing Storage }
    AcceptAsUserError {} { NotOpen, AlreadyMember } { Storage }
}

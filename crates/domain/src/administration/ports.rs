//! The storage ports of administration. As in [`crate::ports`], each method is one atomic operation.
//!
//! Every method takes the organization that it may touch, and MUST treat what belongs to another one exactly
//! like what does not exist.
//!
//! Whether keys are valid and memberships live is evaluated at the time of the act; reads evaluate it at `now`
//! (see [`validity`](crate::validity)).
//!
//! Every method that changes something takes the act that makes its events. In the same transaction the store
//! MUST first acquire a lock that excludes concurrent changes of roles. From then on, the time of the act is
//! the moment [at which](crate::audit::Act::at_current_time) the store has acquired it, so that events are
//! dated in the order of the changes. Then the store MUST check that the act's actor is still allowed: a user
//! MUST be a live owner of the organization; an administrator is always allowed, and a key or an anonymous
//! actor never. Otherwise it refuses with `NotAllowed`.
//!
//! The change and its events commit together or not at all, even if the caller stops waiting.

mod invitations;
mod members;
mod names;
mod organization_keys;
mod organizations;
mod projects;

// Types of the ports, defined beside what they describe.
pub use crate::administration::cutoff_time::{CutoffTime, CutoffTooRecent};
pub use crate::administration::held_key::{HeldKey, KeyTree, KeyTreeSize};
pub use crate::administration::key_selection::{
    KeySelection, PreviewedKeys, RevocationPreview, RevokedBatch, ShortenedBatch,
};
pub use crate::administration::member_overview::{
    LeavingPreview, MemberFilter, MemberOverview, MemberProfile, WhichMember,
};
pub use crate::administration::named::Named;
pub use crate::administration::organization_key_filter::{HolderStatusFilter, OrganizationKeyFilter};
pub use crate::administration::project_overview::{ProjectFilter, ProjectOverview, ProjectStatus};
pub use crate::invitation::{NewInvitation, OpenInvitationCounts};

pub use invitations::{AddInvitationError, InvitationStore, RevokeInvitationError};
pub use members::{ChangeMembershipExpiryError, ChangeRoleError, EndMembershipError, MemberStore};
pub use names::Names;
pub use organization_keys::{ApplyLongestLifeError, OrganizationKeyStore, RevokeKeysError};
pub use organizations::{ChangeOrganizationError, OrganizationStore};
pub use projects::{AddProjectError, ChangeProjectError, ChangeProjectMembersError, ProjectStore};

#[cfg(feature = "testing")]
pub use {
    invitations::MockInvitationStore, members::MockMemberStore, names::MockNames,
    organization_keys::MockOrganizationKeyStore, organizations::MockOrganizationStore,
    projects::MockProjectStore,
};

//! The storage ports of administration. As in [`crate::ports`], each method is one atomic operation.
//!
//! Every method takes the organization that it may touch, and MUST treat what belongs to another one exactly like what
//! does not exist.
//!
//! Which keys are valid and which memberships live is asked about the moment of the act or the event or, where nothing is
//! changed, about the one that a method takes as `now` (see [`validity`](crate::validity)).
//!
//! Every method that changes something takes the event that tells of it, or the act that makes events. Its actor is who
//! acts, and before all else, in the same transaction and so that no concurrent change of roles comes between, the store
//! MUST check that they still may: a user MUST be a live owner of the organization, an administrator always may, a key
//! or nobody never. Else it refuses with `NotAllowed`. What is changed and its events commit together or not at all,
//! even if the caller stops waiting.

mod invitations;
mod members;
mod names;
mod organization_keys;
mod organizations;
mod projects;

// Types of the ports, defined beside what they describe.
pub use crate::administration::cutoff_time::{CutoffTime, CutoffTooRecent};
pub use crate::administration::held_key::{HeldKey, HolderProfile, KeyTree, KeyTreeSize};
pub use crate::administration::key_selection::{
    KeySelection, PreviewedKeys, RevocationPreview, RevokedBatch, ShortenedBatch,
};
pub use crate::administration::member_overview::{LeavingPreview, MemberFilter, MemberOverview, WhichMember};
pub use crate::administration::organization_key_filter::{HolderStatusFilter, OrganizationKeyFilter};
pub use crate::administration::project_overview::{
    ProjectFilter, ProjectMember, ProjectOverview, ProjectStatus,
};
pub use crate::invitation::NewInvitation;

pub use invitations::{AddInvitationError, InvitationStore, RevokeInvitationError};
pub use members::{ChangeMembershipExpiryError, ChangeRoleError, EndMembershipError, MemberStore};
pub use names::{Named, Names};
pub use organization_keys::{ApplyLongestLifeError, OrganizationKeyStore, RevokeKeysError};
pub use organizations::{ChangeOrganizationError, OrganizationStore};
pub use projects::{AddProjectError, ChangeProjectError, ChangeProjectMembersError, ProjectStore};

#[cfg(feature = "testing")]
pub use {
    invitations::MockInvitationStore, members::MockMemberStore, names::MockNames,
    organization_keys::MockOrganizationKeyStore, organizations::MockOrganizationStore,
    projects::MockProjectStore,
};

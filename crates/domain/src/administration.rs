//! Running an organization: its members, invitations and projects, and its keys as owners see them.
//!
//! Only people administer. Every use case takes an [`Authority`], which an owner has in person and which no key ever
//! yields; and since a role can end between the click and the change, every store checks it again in the transaction.

mod audit_export;
mod audit_follower;
mod audit_trail;
mod events;
mod held_key;
mod invitations;
mod key_selection;
mod member_overview;
mod members;
mod organization_key_filter;
mod organization_keys;
mod organizations;
pub mod ports;
mod project_overview;
mod projects;
mod settled_moment;

pub use crate::authority::Authority;
pub use audit_export::AuditExport;
pub use audit_follower::{AuditFollower, FeedStart, FollowedEvents, FollowedLog};
pub use audit_trail::{AuditPage, AuditTrail};
pub use invitations::{InvitationDraft, Invitations, IssuedInvitation};
pub use members::Members;
pub use organization_keys::{OrganizationKeys, RevocationStopped, RevokedKeys, WhyStopped};
pub use organizations::Organizations;
pub use projects::Projects;

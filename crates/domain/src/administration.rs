//! Administration of an organization: members, invitations, projects and, for owners, all keys.
//!
//! Keys cannot administer. Every use case takes an [`Authority`], which only a signed-in owner or the command
//! line has. Because a role can end between the request and the change, every store checks the authority
//! again in the transaction.

mod audit_export;
mod audit_follower;
mod audit_trail;
mod batches;
mod change_limit;
mod cutoff_time;
mod events;
mod held_key;
mod invitations;
mod key_selection;
mod member_overview;
mod members;
mod named;
mod organization_key_filter;
mod organization_keys;
mod organizations;
pub mod ports;
mod project_overview;
mod projects;

pub use crate::authority::Authority;
pub use audit_export::{AuditExport, ExportAuditLogError};
pub use audit_follower::{AuditFollower, FeedStart, FollowedEvents, FollowedLog};
pub use audit_trail::{AuditPage, AuditTrail};
pub use batches::{StopReason, Stopped};
pub use invitations::{InvitationDraft, Invitations, IssuedInvitation};
pub use members::Members;
pub use organization_keys::{OrganizationKeys, RevokedKeys};
pub use organizations::Organizations;
pub use projects::Projects;

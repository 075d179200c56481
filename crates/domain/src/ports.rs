//! The storage ports. Each method is one atomic operation that takes everything that commits together.
//!
//! The words MUST and MUST NOT are contracts; the conformance suite in `testing` checks them on every
//! implementation.

mod access_changes;
mod api_keys;
mod audit_feed;
mod audit_log;
mod credentials;
mod last_uses;
mod memberships;
mod reachable_projects;
mod storage_error;

// Types of the ports, defined beside what they describe.
pub use crate::api_key::filter::{KeyFilter, SearchedText, StatusFilter, search_term};
pub use crate::api_key::limits::{KeyLimit, KeyLimits};
pub use crate::api_key::new_api_key::NewApiKey;
pub use crate::api_key::rotation::{NewRotation, NotRotated, RotationDraft};
pub use crate::api_key::{DescendantKeys, KeyUse};
pub use crate::audit::feed::{AuditLogId, FeedPage, FeedPosition, InvalidFeedPosition};
pub use crate::audit::filter::{AuditFilter, AuditPosition};

pub use access_changes::AccessChanges;
pub use api_keys::{AddKeyError, ApiKeys, EditKeyError, RevokeKeyError, RotateKeyError};
pub use audit_feed::{AuditFeed, ReadFeedError};
pub use audit_log::AuditLog;
pub use credentials::Credentials;
pub use last_uses::LastUses;
pub use memberships::Memberships;
pub use reachable_projects::ReachableProjects;
pub use storage_error::StorageError;

#[cfg(feature = "testing")]
pub use {
    api_keys::MockApiKeys, audit_feed::MockAuditFeed, audit_log::MockAuditLog, credentials::MockCredentials,
    last_uses::MockLastUses, memberships::MockMemberships, reachable_projects::MockReachableProjects,
};

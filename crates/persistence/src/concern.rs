//! The keys that a change concerns, as columns.

use keyward_domain::access_changes::Concern;
use keyward_domain::id::{ApiKeyId, MembershipId, OrganizationId};
use uuid::Uuid;

pub(crate) const fn to_columns(concern: Concern) -> (&'static str, Option<Uuid>) {
    match concern {
        Concern::ApiKey(id) => ("api_key", Some(id.as_uuid())),
        Concern::Consumer(id) => ("consumer", Some(id.as_uuid())),
        Concern::Organization(id) => ("organization", Some(id.as_uuid())),
        Concern::Everyone => ("everyone", None),
    }
}

/// Words of a later version, and rows that make no sense, are about everyone: more is read again than needed.
pub(crate) fn from_columns(kind: &str, id: Option<Uuid>) -> Concern {
    match (kind, id) {
        ("api_key", Some(id)) => Concern::ApiKey(ApiKeyId::from_uuid(id)),
        ("consumer", Some(id)) => Concern::Consumer(MembershipId::from_uuid(id)),
        ("organization", Some(id)) => Concern::Organization(OrganizationId::from_uuid(id)),
        (_, _) => Concern::Everyone,
    }
}

//! A credential as a store finds it.

use keyward_domain::access::{CallerOrganization, CallingKey, Credential};
use keyward_domain::holder::Consumer;
use keyward_domain::id::{ApiKeyId, MembershipId, OrganizationId, UserId};
use keyward_domain::organization::{OrganizationName, Slug};
use keyward_domain::user::Username;
use uuid::Uuid;

pub(crate) fn credential() -> Credential {
    let name = OrganizationName::parse("Analytical Engines Limited").expect("a name");
    Credential {
        api_key: CallingKey {
            id: ApiKeyId::from_uuid(Uuid::nil()),
            created_at: "2026-01-01T00:00:00Z".parse().expect("a time"),
            can_manage_keys: true,
        },
        consumer: Consumer {
            id: MembershipId::from_uuid(Uuid::from_u128(1)),
            user_id: UserId::from_uuid(Uuid::from_u128(2)),
            username: Username::parse("augusta.lovelace").expect("a username"),
        },
        organization: CallerOrganization {
            id: OrganizationId::from_uuid(Uuid::from_u128(3)),
            slug: Slug::from_name(&name),
            name,
        },
        key_end: None,
        membership_end: None,
    }
}

//! The hot path: reads everything that decides about a token, by its digest.
//!
//! One statement, so that it reads one snapshot. On PostgreSQL it runs on the primary, so it sees everything
//! that any process committed before. Its result may be kept as long as a lease guarantees that it is still
//! right.

use std::convert::Infallible;

use diesel::OptionalExtension;
use diesel::dsl::auto_type;
use diesel::prelude::{ExpressionMethods, QueryDsl, Queryable};
use keyward_domain::access::{CallerOrganization, CallingKey, Credential};
use keyward_domain::holder::Consumer;
use keyward_domain::id::{ApiKeyId, MembershipId, OrganizationId, UserId};
use keyward_domain::organization::{OrganizationName, Slug};
use keyward_domain::ports::StorageError;
use keyward_domain::token::TokenDigest;
use keyward_domain::user::Username;

use super::dialect::{Connection, RunQueryDsl};
use super::schema::{api_keys, memberships, organizations, users};
use super::validity::StoredEnd;
use crate::abort::Abort;
use crate::columns::{StoredFlag, StoredId, StoredMoment};
use crate::stored_row::StoredRow;

/// The credential of the key with this digest.
pub(in super::super) async fn find(
    connection: &mut Connection,
    digest: TokenDigest,
) -> Result<Option<Credential>, Abort<Infallible>> {
    let with_digest = api_keys::digest.eq(digest.as_bytes().as_slice());
    let credentials = credentials().filter(with_digest).select(columns());
    let row: Option<CredentialRow> = credentials.get_result(connection).await.optional()?;
    Ok(row.map(Credential::try_from).transpose()?)
}

/// The tables of which a credential is made.
#[auto_type]
pub(in super::super) fn credentials() -> _ {
    api_keys::table.inner_join(
        memberships::table
            .inner_join(users::table)
            .inner_join(organizations::table),
    )
}

/// The columns of a [`CredentialRow`].
#[auto_type(no_type_alias)]
pub(in super::super) fn columns() -> _ {
    (
        api_keys::id,
        api_keys::created_at,
        api_keys::can_manage_keys,
        (api_keys::revoked_at, api_keys::end_came_at),
        memberships::id,
        (memberships::ended_at, memberships::end_came_at),
        users::id,
        users::username,
        organizations::id,
        organizations::slug,
        organizations::name,
    )
}

#[derive(Queryable)]
pub(in super::super) struct CredentialRow {
    key_id: StoredId,
    key_created_at: StoredMoment,
    can_manage_keys: StoredFlag,
    key_end: StoredEnd,
    membership_id: StoredId,
    membership_end: StoredEnd,
    user_id: StoredId,
    username: String,
    organization_id: StoredId,
    organization_slug: String,
    organization_name: String,
}

impl TryFrom<CredentialRow> for Credential {
    type Error = StorageError;

    fn try_from(row: CredentialRow) -> Result<Self, StorageError> {
        let key = StoredRow::new("api_keys", row.key_id.0);
        let membership = StoredRow::new("memberships", row.membership_id.0);
        let user = StoredRow::new("users", row.user_id.0);
        let organization = StoredRow::new("organizations", row.organization_id.0);
        Ok(Self {
            api_key: CallingKey {
                id: ApiKeyId::from_uuid(row.key_id.0),
                created_at: key.moment("created_at", row.key_created_at)?,
                can_manage_keys: row.can_manage_keys.0,
            },
            consumer: Consumer {
                id: MembershipId::from_uuid(row.membership_id.0),
                user_id: UserId::from_uuid(row.user_id.0),
                username: user.read("username", Username::parse(&row.username))?,
            },
            organization: CallerOrganization {
                id: OrganizationId::from_uuid(row.organization_id.0),
                slug: organization.read("slug", Slug::parse(&row.organization_slug))?,
                name: organization.read("name", OrganizationName::from_storage(row.organization_name))?,
            },
            key_end: row.key_end.read(&key, "revoked_at")?,
            membership_end: row.membership_end.read(&membership, "ended_at")?,
        })
    }
}

//! Rows of organizations, users and memberships, which several ports read and write.

use diesel::prelude::{Insertable, Queryable, Selectable};
use diesel::sqlite::Sqlite;
use keyward_domain::id::{MembershipId, OrganizationId, UserId};
use keyward_domain::membership::{Membership, Role};
use keyward_domain::organization::{Organization, OrganizationName, Slug};
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::password::PasswordHash;
use keyward_domain::user::{DisplayName, User, Username};
use uuid::Uuid;

use super::columns::{StoredId, moment};
use super::schema::{memberships, organizations, users};
use crate::stored_row::StoredRow;

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = organizations, check_for_backend(Sqlite))]
pub(super) struct OrganizationRow {
    id: StoredId,
    slug: String,
    name: String,
    created_at: i64,
    new_keys_manage_keys: i64,
}

impl From<Organization> for OrganizationRow {
    fn from(organization: Organization) -> Self {
        Self {
            id: StoredId(organization.id.as_uuid()),
            slug: organization.slug.to_string(),
            name: organization.name.to_string(),
            created_at: organization.created_at.timestamp_millis(),
            new_keys_manage_keys: i64::from(organization.new_keys_manage_keys),
        }
    }
}

impl TryFrom<OrganizationRow> for Organization {
    type Error = StorageError;

    fn try_from(row: OrganizationRow) -> Result<Self, StorageError> {
        let stored = StoredRow::new("organizations", row.id.0);
        Ok(Self {
            id: OrganizationId::from_uuid(row.id.0),
            slug: stored.read("slug", Slug::parse(&row.slug))?,
            name: stored.read("name", OrganizationName::from_storage(row.name))?,
            created_at: stored.read("created_at", moment(row.created_at))?,
            new_keys_manage_keys: row.new_keys_manage_keys == 1,
        })
    }
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = users, check_for_backend(Sqlite))]
pub(super) struct UserRow {
    id: StoredId,
    username: String,
    display_name: String,
    created_at: i64,
}

impl UserRow {
    pub(super) const fn id(&self) -> Uuid {
        self.id.0
    }
}

impl TryFrom<UserRow> for User {
    type Error = StorageError;

    fn try_from(row: UserRow) -> Result<Self, StorageError> {
        let stored = StoredRow::new("users", row.id.0);
        Ok(Self {
            id: UserId::from_uuid(row.id.0),
            username: stored.read("username", Username::parse(&row.username))?,
            display_name: stored.read("display_name", DisplayName::from_storage(row.display_name))?,
            created_at: stored.read("created_at", moment(row.created_at))?,
        })
    }
}

/// A user with what their password is checked against, to be stored.
#[derive(Insertable)]
#[diesel(table_name = users)]
pub(super) struct NewUserRow {
    id: StoredId,
    username: String,
    display_name: String,
    search_text: String,
    password_hash: String,
    created_at: i64,
}

impl NewUserRow {
    pub(super) fn new(user: &User, password_hash: &PasswordHash) -> Self {
        Self {
            id: StoredId(user.id.as_uuid()),
            username: user.username.to_string(),
            display_name: user.display_name.to_string(),
            search_text: user.search_text(),
            password_hash: password_hash.as_str().to_owned(),
            created_at: user.created_at.timestamp_millis(),
        }
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = memberships, check_for_backend(Sqlite))]
pub(super) struct MembershipRow {
    id: StoredId,
    organization_id: StoredId,
    user_id: StoredId,
    role: String,
    joined_at: i64,
    ended_at: Option<i64>,
}

impl From<Membership> for MembershipRow {
    fn from(membership: Membership) -> Self {
        Self {
            id: StoredId(membership.id.as_uuid()),
            organization_id: StoredId(membership.organization_id.as_uuid()),
            user_id: StoredId(membership.user_id.as_uuid()),
            role: membership.role.as_str().to_owned(),
            joined_at: membership.joined_at.timestamp_millis(),
            ended_at: membership.ended_at.map(|at| at.timestamp_millis()),
        }
    }
}

impl TryFrom<MembershipRow> for Membership {
    type Error = StorageError;

    fn try_from(row: MembershipRow) -> Result<Self, StorageError> {
        let stored = StoredRow::new("memberships", row.id.0);
        Ok(Self {
            id: MembershipId::from_uuid(row.id.0),
            organization_id: OrganizationId::from_uuid(row.organization_id.0),
            user_id: UserId::from_uuid(row.user_id.0),
            role: stored.word("role", Role::from_word(&row.role))?,
            joined_at: stored.read("joined_at", moment(row.joined_at))?,
            ended_at: stored.read("ended_at", row.ended_at.map(moment).transpose())?,
        })
    }
}

//! Rows of organizations, users and memberships, which several ports read and write.

use diesel::QueryResult;
use diesel::prelude::{Insertable, Queryable, Selectable};
use keyward_domain::administration::ports::MemberProfile;
use keyward_domain::api_key::LongestLife;
use keyward_domain::id::{MembershipId, OrganizationId, UserId};
use keyward_domain::membership::{Membership, Role};
use keyward_domain::organization::{Organization, OrganizationName, Slug};
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::accounts::Account;
use keyward_domain::sign_in::password::PasswordHash;
use keyward_domain::user::{DisplayName, User, Username};

use super::dialect::{Connection, Database, RunQueryDsl, username_is_taken};
use super::schema::{memberships, organizations, users};
use super::validity::StoredEnd;
use crate::abort::Abort;
use crate::columns::{StoredFlag, StoredId, StoredMoment, StoredNumber};
use crate::stored_row::StoredRow;

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = organizations, check_for_backend(Database))]
pub(crate) struct OrganizationRow {
    id: StoredId,
    slug: String,
    name: String,
    created_at: StoredMoment,
    new_keys_manage_keys: StoredFlag,
    longest_key_life_days: Option<StoredNumber>,
}

impl From<Organization> for OrganizationRow {
    fn from(organization: Organization) -> Self {
        Self {
            id: StoredId(organization.id.as_uuid()),
            slug: organization.slug.to_string(),
            name: organization.name.to_string(),
            created_at: organization.created_at.into(),
            new_keys_manage_keys: StoredFlag(organization.new_keys_manage_keys),
            longest_key_life_days: organization.longest_key_life.map(stored_life),
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
            created_at: stored.moment("created_at", row.created_at)?,
            new_keys_manage_keys: row.new_keys_manage_keys.0,
            longest_key_life: longest_life(&stored, row.longest_key_life_days)?,
        })
    }
}

pub(crate) fn stored_life(life: LongestLife) -> StoredNumber {
    StoredNumber(life.days().into())
}

/// The column `organizations.longest_key_life_days`.
pub(crate) fn longest_life(
    stored: &StoredRow,
    days: Option<StoredNumber>,
) -> Result<Option<LongestLife>, StorageError> {
    let life = days.map(|days| LongestLife::of_days(days.0.into()));
    stored.read("longest_key_life_days", life.transpose())
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = users, check_for_backend(Database))]
pub(crate) struct UserRow {
    id: StoredId,
    username: String,
    display_name: String,
    created_at: StoredMoment,
}

impl TryFrom<UserRow> for User {
    type Error = StorageError;

    fn try_from(row: UserRow) -> Result<Self, StorageError> {
        let stored = StoredRow::new("users", row.id.0);
        Ok(Self {
            id: UserId::from_uuid(row.id.0),
            username: stored.read("username", Username::parse(&row.username))?,
            display_name: stored.read("display_name", DisplayName::from_storage(row.display_name))?,
            created_at: stored.moment("created_at", row.created_at)?,
        })
    }
}

pub(crate) fn profile((user, membership): (UserRow, MembershipRow)) -> Result<MemberProfile, StorageError> {
    Ok(MemberProfile {
        user: user.try_into()?,
        membership: membership.try_into()?,
    })
}

/// A new user with their password hash.
#[derive(Insertable)]
#[diesel(table_name = users)]
pub(crate) struct NewUserRow {
    id: StoredId,
    username: String,
    display_name: String,
    search_text: String,
    password_hash: String,
    created_at: StoredMoment,
}

impl NewUserRow {
    pub(crate) fn new(user: &User, password_hash: &PasswordHash) -> Self {
        Self {
            id: StoredId(user.id.as_uuid()),
            username: user.username.to_string(),
            display_name: user.display_name.to_string(),
            search_text: user.search_text(),
            password_hash: password_hash.as_str().to_owned(),
            created_at: user.created_at.into(),
        }
    }
}

/// Adds a user, unless the username is taken. If two transactions insert the same one, even in different
/// organizations, the unique index makes the second wait for the first and then refuses it.
pub(crate) async fn add_user<E>(
    connection: &mut Connection,
    account: &Account,
    username_taken: E,
) -> Result<(), Abort<E>> {
    diesel::insert_into(users::table)
        .values(NewUserRow::new(&account.user, &account.password_hash))
        .execute(connection)
        .await
        .map_err(|error| {
            if username_is_taken(&error) {
                Abort::Refused(username_taken)
            } else {
                Abort::Query(error)
            }
        })?;
    Ok(())
}

/// Begins a membership.
pub(crate) async fn add_membership(connection: &mut Connection, membership: Membership) -> QueryResult<()> {
    diesel::insert_into(memberships::table)
        .values(MembershipRow::from(membership))
        .execute(connection)
        .await?;
    Ok(())
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = memberships, check_for_backend(Database))]
pub(crate) struct MembershipRow {
    id: StoredId,
    organization_id: StoredId,
    user_id: StoredId,
    role: String,
    joined_at: StoredMoment,
    ended_at: Option<StoredMoment>,
    end_came_at: Option<StoredMoment>,
}

impl From<Membership> for MembershipRow {
    fn from(membership: Membership) -> Self {
        let end = StoredEnd::from(membership.end);
        Self {
            id: StoredId(membership.id.as_uuid()),
            organization_id: StoredId(membership.organization_id.as_uuid()),
            user_id: StoredId(membership.user_id.as_uuid()),
            role: membership.role.as_str().to_owned(),
            joined_at: membership.joined_at.into(),
            ended_at: end.at,
            end_came_at: end.came_at,
        }
    }
}

impl TryFrom<MembershipRow> for Membership {
    type Error = StorageError;

    fn try_from(row: MembershipRow) -> Result<Self, StorageError> {
        let stored = StoredRow::new("memberships", row.id.0);
        let end = StoredEnd {
            at: row.ended_at,
            came_at: row.end_came_at,
        };
        Ok(Self {
            id: MembershipId::from_uuid(row.id.0),
            organization_id: OrganizationId::from_uuid(row.organization_id.0),
            user_id: UserId::from_uuid(row.user_id.0),
            role: stored.word("role", Role::from_word(&row.role))?,
            joined_at: stored.moment("joined_at", row.joined_at)?,
            end: end.read(&stored, "ended_at")?,
        })
    }
}

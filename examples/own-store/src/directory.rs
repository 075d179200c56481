//! The team's own people, and the organizations that they work for. How they sign in is nothing to Keyward.

use chrono::{DateTime, Utc};
use keyward_domain::api_key::LongestLife;
use keyward_domain::id::{MembershipId, OrganizationId, UserId};
use keyward_domain::membership::{Membership, Role};
use keyward_domain::organization::{Organization, OrganizationName, Slug};
use keyward_domain::ports::StorageError;
use keyward_domain::user::{DisplayName, User, Username};
use keyward_domain::validity::End;
use redb::{
    OwnedAccessGuard, ReadTransaction, ReadableTable, TableDefinition, TableHandle, Value, WriteTransaction,
};
use uuid::Uuid;

use crate::columns::{Row, end_row};
use crate::store::{FileStore, failed};
use crate::tables::{MEMBERSHIPS, MEMBERSHIPS_OF_PEOPLE, ORGANIZATIONS, ORGANIZATIONS_BY_SLUG, PEOPLE};

impl FileStore {
    /// Adds an organization.
    ///
    /// # Errors
    /// Its slug is taken, or the store failed.
    pub async fn add_organization(&self, new: Organization) -> Result<(), StorageError> {
        self.change(move |transaction| {
            let (id, slug) = (new.id.as_uuid(), new.slug.as_str());
            let mut by_slug = transaction.open_table(ORGANIZATIONS_BY_SLUG).map_err(failed)?;
            if by_slug.insert(slug, id).map_err(failed)?.is_some() {
                return Err(StorageError::Defect("two organizations share a slug".into()));
            }
            let created_at = new.created_at.timestamp_millis();
            let life = new.longest_key_life.map(LongestLife::days);
            let row = (
                slug,
                new.name.as_str(),
                created_at,
                new.new_keys_manage_keys,
                life,
            );
            let mut organizations = transaction.open_table(ORGANIZATIONS).map_err(failed)?;
            organizations.insert(id, row).map_err(failed)?;
            Ok(())
        })
        .await
    }

    /// Adds a person.
    ///
    /// # Errors
    /// The store failed.
    pub async fn add_person(&self, new: User) -> Result<(), StorageError> {
        self.change(move |transaction| {
            let (username, display_name) = (new.username.as_str(), new.display_name.as_str());
            let row = (username, display_name, new.created_at.timestamp_millis());
            let mut people = transaction.open_table(PEOPLE).map_err(failed)?;
            people.insert(new.id.as_uuid(), row).map_err(failed)?;
            Ok(())
        })
        .await
    }

    /// Lets a person work for an organization.
    ///
    /// # Errors
    /// The store failed.
    pub async fn add_membership(&self, new: Membership) -> Result<(), StorageError> {
        self.change(move |transaction| {
            let (id, user) = (new.id.as_uuid(), new.user_id.as_uuid());
            let mut of_people = transaction.open_table(MEMBERSHIPS_OF_PEOPLE).map_err(failed)?;
            of_people.insert((user, id), ()).map_err(failed)?;
            let (joined_at, end) = (new.joined_at.timestamp_millis(), new.end.map(end_row));
            let row = (
                new.organization_id.as_uuid(),
                user,
                new.role.as_str(),
                joined_at,
                end,
            );
            let mut memberships = transaction.open_table(MEMBERSHIPS).map_err(failed)?;
            memberships.insert(id, row).map_err(failed)?;
            Ok(())
        })
        .await
    }

    /// Ends a person's work for an organization, and with it the keys that they have there, or plans to.
    ///
    /// # Errors
    /// There is no such membership, or the store failed.
    pub async fn end_membership(&self, id: MembershipId, end: End) -> Result<(), StorageError> {
        self.change(move |transaction| {
            let mut memberships = transaction.open_table(MEMBERSHIPS).map_err(failed)?;
            let mut row = memberships
                .get_mut(id.as_uuid())
                .map_err(failed)?
                .ok_or_else(|| missing(MEMBERSHIPS.name(), id.as_uuid()))?;
            let (organization, person, role, joined_at, before) = row.value();
            let role = role.to_owned();
            let end = before.filter(|(_, came)| *came).or(Some(end_row(end)));
            row.insert((organization, person, role.as_str(), joined_at, end))
                .map_err(failed)
        })
        .await
    }
}

pub(crate) fn organization(
    transaction: &ReadTransaction,
    id: OrganizationId,
) -> Result<Organization, StorageError> {
    let (row, stored) = get(transaction, &ORGANIZATIONS, id.as_uuid())?;
    let (slug, name, created_at, new_keys_manage_keys, life) = stored.value();
    Ok(Organization {
        id,
        slug: row.valid("slug", Slug::parse(slug))?,
        name: row.valid("name", OrganizationName::from_storage(name))?,
        created_at: row.moment("created_at", created_at)?,
        new_keys_manage_keys,
        longest_key_life: longest_life(&row, life)?,
    })
}

fn longest_life(row: &Row, days: Option<u16>) -> Result<Option<LongestLife>, StorageError> {
    let life = days.map(|days| LongestLife::of_days(days.into()));
    row.valid("longest_key_life", life.transpose())
}

/// The consumer's organization's settings for new keys, in the transaction that adds one.
pub(crate) fn chosen_for_new_keys(
    transaction: &WriteTransaction,
    consumer: MembershipId,
) -> Result<(bool, Option<LongestLife>), StorageError> {
    let organization = organization_of(transaction, consumer)?.as_uuid();
    let organizations = transaction.open_table(ORGANIZATIONS).map_err(failed)?;
    let stored = organizations.get(organization).map_err(failed)?;
    let (.., new_keys_manage_keys, life) = stored
        .ok_or_else(|| missing(ORGANIZATIONS.name(), organization))?
        .value();
    let row = Row {
        table: ORGANIZATIONS.name(),
        id: organization,
    };
    Ok((new_keys_manage_keys, longest_life(&row, life)?))
}

pub(crate) fn organization_of(
    transaction: &WriteTransaction,
    consumer: MembershipId,
) -> Result<OrganizationId, StorageError> {
    let memberships = transaction.open_table(MEMBERSHIPS).map_err(failed)?;
    let membership = memberships.get(consumer.as_uuid()).map_err(failed)?;
    let (organization, ..) = membership
        .ok_or_else(|| missing(MEMBERSHIPS.name(), consumer.as_uuid()))?
        .value();
    Ok(OrganizationId::from_uuid(organization))
}

pub(crate) fn user(transaction: &ReadTransaction, id: UserId) -> Result<User, StorageError> {
    let (row, stored) = get(transaction, &PEOPLE, id.as_uuid())?;
    let (username, display_name, created_at) = stored.value();
    Ok(User {
        id,
        username: row.valid("username", Username::parse(username))?,
        display_name: row.valid("display_name", DisplayName::from_storage(display_name))?,
        created_at: row.moment("created_at", created_at)?,
    })
}

pub(crate) fn membership(
    transaction: &ReadTransaction,
    id: MembershipId,
) -> Result<Membership, StorageError> {
    let (row, stored) = get(transaction, &MEMBERSHIPS, id.as_uuid())?;
    let (organization, person, role, joined_at, end) = stored.value();
    Ok(Membership {
        id,
        organization_id: OrganizationId::from_uuid(organization),
        user_id: UserId::from_uuid(person),
        role: row.known("role", Role::from_word(role))?,
        joined_at: row.moment("joined_at", joined_at)?,
        end: row.end("end", end)?,
    })
}

pub(crate) fn live_memberships(
    transaction: &ReadTransaction,
    user: UserId,
    now: DateTime<Utc>,
) -> Result<Vec<Membership>, StorageError> {
    let of_people = transaction.open_table(MEMBERSHIPS_OF_PEOPLE).map_err(failed)?;
    let person = user.as_uuid();
    let mut live = Vec::new();
    for path in of_people
        .range((person, Uuid::nil())..=(person, Uuid::max()))
        .map_err(failed)?
    {
        let (_, id) = path.map_err(failed)?.0.value();
        let membership = membership(transaction, MembershipId::from_uuid(id))?;
        live.extend(membership.is_live(now).then_some(membership));
    }
    Ok(live)
}

/// A row that another row refers to, and so must exist.
fn get<V: Value>(
    transaction: &ReadTransaction,
    table: &'static TableDefinition<'static, Uuid, V>,
    id: Uuid,
) -> Result<(Row, OwnedAccessGuard<V>), StorageError> {
    let rows = transaction.open_table(*table).map_err(failed)?;
    let stored = rows.get_owned(id).map_err(failed)?;
    let stored = stored.ok_or_else(|| missing(table.name(), id))?;
    let table = table.name();
    Ok((Row { table, id }, stored))
}

fn missing(table: &str, id: Uuid) -> StorageError {
    StorageError::Defect(format!("no row {id} in {table}").into())
}

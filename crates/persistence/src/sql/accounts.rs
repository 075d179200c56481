//! Organizations, users and the hashes of their passwords.

use async_trait::async_trait;
use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use keyward_domain::audit::AuditEvent;
use keyward_domain::id::UserId;
use keyward_domain::organization::{Organization, Slug};
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::accounts::Account;
use keyward_domain::sign_in::password::PasswordHash;
use keyward_domain::sign_in::ports::{
    AccountStore, ChangeOwnPasswordError, CreateAccountError, NewAccount, NewOrganization, PasswordChange,
    ResetPasswordError,
};
use keyward_domain::user::Username;

use super::dialect::{RunQueryDsl, Store, write_events};
use super::events::write_event;
use super::people::{OrganizationRow, UserRow, add_membership, add_user};
use super::schema::{organizations, sessions, users};
use crate::abort::Abort;
use crate::claim::Claim;
use crate::columns::StoredId;

#[async_trait]
impl AccountStore for Store {
    async fn find(&self, username: &Username) -> Result<Option<Account>, StorageError> {
        let username = username.clone();
        read!(self, |connection| {
            let row: Option<(UserRow, String)> = users::table
                .filter(users::username.eq(username.as_str()))
                .select((UserRow::as_select(), users::password_hash))
                .get_result(connection)
                .await
                .optional()?;
            let Some((user, password_hash)) = row else {
                return Ok(None);
            };
            Ok(Some(Account {
                user: user.try_into()?,
                password_hash: PasswordHash::from_phc_string(password_hash),
            }))
        })
    }

    async fn find_organization(&self, slug: &Slug) -> Result<Option<Organization>, StorageError> {
        let slug = slug.to_string();
        read!(self, |connection| {
            let row: Option<OrganizationRow> = organizations::table
                .filter(organizations::slug.eq(slug))
                .select(OrganizationRow::as_select())
                .get_result(connection)
                .await
                .optional()?;
            Ok(row.map(Organization::try_from).transpose()?)
        })
    }

    async fn organizations(&self) -> Result<Vec<Organization>, StorageError> {
        read!(self, |connection| {
            let rows: Vec<OrganizationRow> = organizations::table
                .order((organizations::name, organizations::id))
                .select(OrganizationRow::as_select())
                .load(connection)
                .await?;
            let organizations: Result<_, StorageError> =
                rows.into_iter().map(Organization::try_from).collect();
            Ok(organizations?)
        })
    }

    async fn add_organization(
        &self,
        new: NewOrganization,
        events: Vec<AuditEvent>,
    ) -> Result<Slug, StorageError> {
        change!(self, |connection| {
            let NewOrganization { organization, owner } = new;
            for slug in organization.slug.candidates() {
                let row = OrganizationRow::from(Organization {
                    slug: slug.clone(),
                    ..organization.clone()
                });
                // If two transactions insert the same slug, the unique index makes the second wait for the
                // first and then try the next candidate.
                let added = diesel::insert_into(organizations::table)
                    .values(row)
                    .on_conflict(organizations::slug)
                    .do_nothing()
                    .execute(connection)
                    .await?;
                if added > 0 {
                    add_membership(connection, owner).await?;
                    write_events(connection, events).await?;
                    return Ok(slug);
                }
            }
            Err(StorageError::Defect("every slug is taken".into()).into())
        })
    }

    async fn add(&self, new: NewAccount, events: Vec<AuditEvent>) -> Result<(), CreateAccountError> {
        change!(self, |connection| {
            let NewAccount { account, membership } = new;
            add_user(connection, &account, CreateAccountError::UsernameTaken).await?;
            add_membership(connection, membership).await?;
            write_events(connection, events).await?;
            Ok(())
        })
    }

    async fn replace_password(
        &self,
        user: UserId,
        password_hash: PasswordHash,
        event: AuditEvent,
    ) -> Result<(), ResetPasswordError> {
        change!(self, Claim::Revoking, |connection| {
            let replaced = diesel::update(users::table.filter(users::id.eq(StoredId(user.as_uuid()))))
                .set(users::password_hash.eq(password_hash.as_str()))
                .execute(connection)
                .await?;
            if replaced == 0 {
                return Err(Abort::Refused(ResetPasswordError::UserUnknown));
            }
            diesel::delete(sessions::table.filter(sessions::user_id.eq(StoredId(user.as_uuid()))))
                .execute(connection)
                .await?;
            write_event(connection, event).await?;
            Ok(())
        })
    }

    async fn change_password(
        &self,
        user: UserId,
        change: PasswordChange,
        event: AuditEvent,
    ) -> Result<(), ChangeOwnPasswordError> {
        change!(self, Claim::SigningIn, |connection| {
            let PasswordChange {
                password_hash,
                verified_against,
                keep,
            } = change;
            let of_user = users::table.filter(users::id.eq(StoredId(user.as_uuid())));
            let changed = diesel::update(of_user.filter(users::password_hash.eq(verified_against.as_str())))
                .set(users::password_hash.eq(password_hash.as_str()))
                .execute(connection)
                .await?;
            if changed == 0 {
                return Err(Abort::Refused(ChangeOwnPasswordError::WrongPassword));
            }
            diesel::delete(
                sessions::table
                    .filter(sessions::user_id.eq(StoredId(user.as_uuid())))
                    .filter(sessions::id.ne(StoredId(keep.id.as_uuid()))),
            )
            .execute(connection)
            .await?;
            // The only one that is left.
            diesel::update(sessions::table.filter(sessions::user_id.eq(StoredId(user.as_uuid()))))
                .set(sessions::digest.eq(keep.digest.as_bytes().as_slice()))
                .execute(connection)
                .await?;
            write_event(connection, event).await?;
            Ok(())
        })
    }
}

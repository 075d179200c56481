//! What people call things.

use std::collections::HashMap;

use async_trait::async_trait;
use diesel::dsl::exists;
use diesel::prelude::{ExpressionMethods, JoinOnDsl, NullableExpressionMethods, QueryDsl, SelectableHelper};
use diesel::{OptionalExtension, QueryResult};
use keyward_domain::administration::ports::Names;
use keyward_domain::audit::Subject;
use keyward_domain::id::{OrganizationId, UserId};
use keyward_domain::ports::StorageError;
use keyward_domain::user::{User, Username};
use uuid::Uuid;

use super::dialect::{Connection, RunQueryDsl, Store};
use super::people::UserRow;
use super::schema::{api_keys, audit_events, invitations, memberships, organizations, projects, users};
use crate::columns::StoredId;
use crate::names::{Kind, NamedIds, read_username};

#[async_trait]
impl Names for Store {
    async fn find(
        &self,
        organization: OrganizationId,
        subjects: &[Subject],
    ) -> Result<HashMap<Subject, String>, StorageError> {
        let wanted = NamedIds::of(subjects);
        read!(self, |connection| {
            let mut found = HashMap::new();
            for (kind, ids) in wanted.by_kind() {
                let names = names_of(connection, organization, kind, ids).await?;
                found.extend(names.into_iter().map(|(id, name)| (kind.subject(id.0), name)));
            }
            Ok(found)
        })
    }

    async fn usernames(
        &self,
        organization: OrganizationId,
        subjects: &[Subject],
    ) -> Result<HashMap<Subject, Username>, StorageError> {
        let wanted = NamedIds::of(subjects);
        read!(self, |connection| {
            let (users, members) = (wanted.of_kind(Kind::User), wanted.of_kind(Kind::Membership));
            let mut found = HashMap::new();
            if !users.is_empty() {
                let rows: Vec<(StoredId, String)> = memberships::table
                    .inner_join(users::table)
                    .filter(memberships::organization_id.eq(StoredId(organization.as_uuid())))
                    .filter(memberships::user_id.eq_any(users.iter().copied().map(StoredId)))
                    .select((users::id, users::username))
                    .distinct()
                    .load(connection)
                    .await?;
                for (id, username) in rows {
                    found.extend([read_username(Kind::User, id.0, &username)?]);
                }
            }
            if !members.is_empty() {
                let rows: Vec<(StoredId, String)> = memberships::table
                    .inner_join(users::table)
                    .filter(memberships::organization_id.eq(StoredId(organization.as_uuid())))
                    .filter(memberships::id.eq_any(members.iter().copied().map(StoredId)))
                    .select((memberships::id, users::username))
                    .load(connection)
                    .await?;
                for (id, username) in rows {
                    found.extend([read_username(Kind::Membership, id.0, &username)?]);
                }
            }
            Ok(found)
        })
    }

    /// One statement for all kinds: each part of it is a look into an index. The log is asked for the kind of one event with the
    /// identifier: to look for one of a certain kind would be to go through all events of what has another. Any event tells it,
    /// since no two things share an identifier (RFC 9562, version 7).
    async fn find_subject(
        &self,
        organization: OrganizationId,
        id: Uuid,
    ) -> Result<Option<Subject>, StorageError> {
        read!(self, |connection| {
            let (own, id) = (StoredId(organization.as_uuid()), StoredId(id));
            let told = audit_events::table.filter(audit_events::organization_id.eq(own));
            let (key, membership, user, project, invitation, organization, subject, object, actor): Found =
                diesel::select((
                    exists(
                        api_keys::table
                            .inner_join(memberships::table.on(memberships::id.eq(api_keys::consumer_id)))
                            .filter(memberships::organization_id.eq(own))
                            .filter(api_keys::id.eq(id)),
                    ),
                    exists(
                        memberships::table
                            .filter(memberships::organization_id.eq(own))
                            .filter(memberships::id.eq(id)),
                    ),
                    exists(
                        memberships::table
                            .filter(memberships::organization_id.eq(own))
                            .filter(memberships::user_id.eq(id)),
                    ),
                    exists(
                        projects::table
                            .filter(projects::organization_id.eq(own))
                            .filter(projects::id.eq(id)),
                    ),
                    exists(
                        invitations::table
                            .filter(invitations::organization_id.eq(own))
                            .filter(invitations::id.eq(id)),
                    ),
                    exists(
                        organizations::table
                            .filter(organizations::id.eq(own))
                            .filter(organizations::id.eq(id)),
                    ),
                    told.filter(audit_events::subject_id.eq(id))
                        .select(audit_events::subject_kind)
                        .single_value(),
                    told.filter(audit_events::object_id.eq(id))
                        .select(audit_events::object_kind.assume_not_null())
                        .single_value(),
                    told.filter(audit_events::actor_id.eq(id))
                        .select(audit_events::actor_kind)
                        .single_value(),
                ))
                .get_result(connection)
                .await?;
            let is_here = [key, membership, user, project, invitation, organization];
            let told = [subject, object, actor];
            let possible = Kind::OF_IDENTIFIERS.map(|kind| kind.subject(id.0));
            let found = possible.iter().zip(is_here).find(|(_, is_here)| *is_here);
            let found = found.map(|(subject, _)| subject);
            let by_kind = |subject: &&Subject| told.iter().flatten().any(|kind| kind == subject.kind());
            Ok(found.or_else(|| possible.iter().find(by_kind)).copied())
        })
    }

    async fn find_user(
        &self,
        organization: OrganizationId,
        username: &Username,
    ) -> Result<Option<UserId>, StorageError> {
        let username = username.as_str().to_owned();
        read!(self, |connection| {
            let id: Option<StoredId> = memberships::table
                .inner_join(users::table)
                .filter(users::username.eq(username))
                .filter(memberships::organization_id.eq(StoredId(organization.as_uuid())))
                .select(users::id)
                .distinct()
                .get_result(connection)
                .await
                .optional()?;
            Ok(id.map(|id| UserId::from_uuid(id.0)))
        })
    }

    async fn users(&self, ids: &[UserId]) -> Result<Vec<User>, StorageError> {
        let ids: Vec<StoredId> = ids.iter().map(|id| StoredId(id.as_uuid())).collect();
        read!(self, |connection| {
            let rows: Vec<UserRow> = users::table
                .filter(users::id.eq_any(ids))
                .select(UserRow::as_select())
                .load(connection)
                .await?;
            let users: Result<_, StorageError> = rows.into_iter().map(User::try_from).collect();
            Ok(users?)
        })
    }
}

/// What of each kind is here, and of which kind the log says that it is.
type Found = (
    bool,
    bool,
    bool,
    bool,
    bool,
    bool,
    Option<String>,
    Option<String>,
    Option<String>,
);

/// The names of what is of the organization. Each question names it, so that others' things are as good as absent.
async fn names_of(
    connection: &mut Connection,
    organization: OrganizationId,
    kind: Kind,
    ids: &[Uuid],
) -> QueryResult<Vec<(StoredId, String)>> {
    let organization = StoredId(organization.as_uuid());
    let ids = ids.iter().copied().map(StoredId);
    match kind {
        Kind::Organization => {
            organizations::table
                .filter(organizations::id.eq(organization))
                .filter(organizations::id.eq_any(ids))
                .select((organizations::id, organizations::name))
                .load(connection)
                .await
        }
        Kind::User => {
            memberships::table
                .inner_join(users::table)
                .filter(memberships::organization_id.eq(organization))
                .filter(memberships::user_id.eq_any(ids))
                .select((users::id, users::display_name))
                .distinct()
                .load(connection)
                .await
        }
        Kind::Membership => {
            memberships::table
                .inner_join(users::table)
                .filter(memberships::organization_id.eq(organization))
                .filter(memberships::id.eq_any(ids))
                .select((memberships::id, users::display_name))
                .load(connection)
                .await
        }
        Kind::ApiKey => {
            api_keys::table
                .inner_join(memberships::table.on(memberships::id.eq(api_keys::consumer_id)))
                .filter(memberships::organization_id.eq(organization))
                .filter(api_keys::id.eq_any(ids))
                .select((api_keys::id, api_keys::name))
                .load(connection)
                .await
        }
        Kind::Project => {
            projects::table
                .filter(projects::organization_id.eq(organization))
                .filter(projects::id.eq_any(ids))
                .select((projects::id, projects::name))
                .load(connection)
                .await
        }
        Kind::Invitation => {
            invitations::table
                .filter(invitations::organization_id.eq(organization))
                .filter(invitations::id.eq_any(ids))
                .select((invitations::id, invitations::invitee))
                .load(connection)
                .await
        }
    }
}

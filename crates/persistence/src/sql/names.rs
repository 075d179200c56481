//! Names of subjects.

use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;

use async_trait::async_trait;
use diesel::OptionalExtension;
use diesel::dsl::sql;
use diesel::expression::SqlLiteral;
use diesel::prelude::{CombineDsl, ExpressionMethods, NullableExpressionMethods, QueryDsl, SelectableHelper};
use diesel::sql_types::{Nullable, Text};
use keyward_domain::administration::ports::{Named, Names};
use keyward_domain::audit::Subject;
use keyward_domain::id::{ApiKeyId, InvitationId, MembershipId, OrganizationId, ProjectId, UserId};
use keyward_domain::ports::StorageError;
use keyward_domain::token::TokenHint;
use keyward_domain::user::{User, Username};
use uuid::Uuid;

use super::dialect::{Connection, RunQueryDsl, Store, of_organization, prepared_once};
use super::people::UserRow;
use super::schema::{api_keys, audit_events, invitations, memberships, organizations, projects, users};
use crate::abort::Abort;
use crate::columns::StoredId;
use crate::stored_row::StoredRow;

#[async_trait]
impl Names for Store {
    async fn identify(
        &self,
        organization: OrganizationId,
        subjects: &[Subject],
    ) -> Result<HashMap<Subject, Named>, StorageError> {
        let wanted: Vec<Subject> = subjects.iter().copied().filter(has_name).collect();
        read!(self, identify(organization, wanted))
    }

    /// The audit log is asked for identifiers without a name only, and yields the kind of any one event with
    /// the identifier: searching for an event of a certain kind could scan all events of a subject of another
    /// kind. Any event suffices, because identifiers are unique across kinds (RFC 9562, version 7).
    async fn find_subject(
        &self,
        organization: OrganizationId,
        id: Uuid,
    ) -> Result<Option<Subject>, StorageError> {
        let possible = [
            Subject::ApiKey(ApiKeyId::from_uuid(id)),
            Subject::Membership(MembershipId::from_uuid(id)),
            Subject::User(UserId::from_uuid(id)),
            Subject::Project(ProjectId::from_uuid(id)),
            Subject::Invitation(InvitationId::from_uuid(id)),
            Subject::Organization(OrganizationId::from_uuid(id)),
        ];
        read!(self, |connection| {
            let named = identify(connection, organization, possible.to_vec()).await?;
            let found = possible.iter().find(|subject| named.contains_key(subject));
            if found.is_some() {
                return Ok(found.copied());
            }
            let id = StoredId(id);
            let events = audit_events::table
                .filter(audit_events::organization_id.eq(StoredId(organization.as_uuid())));
            let (subject, object, actor): (Option<String>, Option<String>, Option<String>) =
                diesel::select((
                    events
                        .filter(audit_events::subject_id.eq(id))
                        .select(audit_events::subject_kind)
                        .single_value(),
                    events
                        .filter(audit_events::object_id.eq(id))
                        .select(audit_events::object_kind.assume_not_null())
                        .single_value(),
                    events
                        .filter(audit_events::actor_id.eq(id))
                        .select(audit_events::actor_kind)
                        .single_value(),
                ))
                .get_result(connection)
                .await?;
            let kinds = [subject, object, actor];
            let is_in_log = |subject: &&Subject| kinds.iter().flatten().any(|kind| kind == subject.kind());
            Ok(possible.iter().find(is_in_log).copied())
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

fn has_name(subject: &Subject) -> bool {
    match subject {
        Subject::Organization(_)
        | Subject::User(_)
        | Subject::Membership(_)
        | Subject::Invitation(_)
        | Subject::Project(_)
        | Subject::ApiKey(_) => true,
        Subject::Session(_) | Subject::Installation | Subject::Other { .. } => false,
    }
}

/// The names of the organization's subjects, in one statement for all kinds. Each part names the
/// organization, so that subjects of others are treated as absent.
async fn identify(
    connection: &mut Connection,
    organization: OrganizationId,
    wanted: Vec<Subject>,
) -> Result<HashMap<Subject, Named>, Abort<Infallible>> {
    if wanted.is_empty() {
        return Ok(HashMap::new());
    }
    let own = StoredId(organization.as_uuid());
    let ids = |kind| -> BTreeSet<StoredId> {
        let of_kind = wanted.iter().filter(|subject| subject.kind() == kind);
        of_kind.filter_map(|subject| subject.id()).map(StoredId).collect()
    };
    let username = users::username.nullable();
    let here = memberships::table
        .inner_join(users::table)
        .filter(memberships::organization_id.eq(own));
    let organizations = organizations::table
        .filter(organizations::id.eq(own))
        .filter(organizations::id.eq_any(ids("organization")))
        .select((
            word("organization"),
            organizations::id,
            organizations::name,
            indistinct(),
        ));
    let users = here.filter(memberships::user_id.eq_any(ids("user"))).select((
        word("user"),
        users::id,
        users::display_name,
        username,
    ));
    let members = here.filter(memberships::id.eq_any(ids("membership"))).select((
        word("membership"),
        memberships::id,
        users::display_name,
        username,
    ));
    let keys = api_keys::table
        .filter(of_organization!(own))
        .filter(api_keys::id.eq_any(ids("api_key")))
        .select((
            word("api_key"),
            api_keys::id,
            api_keys::name,
            api_keys::hint.nullable(),
        ));
    let projects = projects::table
        .filter(projects::organization_id.eq(own))
        .filter(projects::id.eq_any(ids("project")))
        .select((word("project"), projects::id, projects::name, indistinct()));
    let invitations = invitations::table
        .filter(invitations::organization_id.eq(own))
        .filter(invitations::id.eq_any(ids("invitation")))
        .select((
            word("invitation"),
            invitations::id,
            invitations::invitee,
            indistinct(),
        ));
    let named = organizations
        .union_all(users)
        .union_all(members)
        .union_all(keys)
        .union_all(projects)
        .union_all(invitations);
    let rows: Vec<(String, StoredId, String, Option<String>)> = prepared_once(named).load(connection).await?;
    let mut found = HashMap::new();
    for (kind, id, name, distinction) in rows {
        let Ok(subject) = Subject::from_kind(&kind, Some(id.0)) else {
            continue;
        };
        let (mut username, mut hint) = (None, None);
        if let Some(text) = distinction {
            if let Subject::ApiKey(_) = subject {
                let stored = StoredRow::new("api_keys", id.0);
                hint = Some(stored.read("hint", TokenHint::parse(&text))?);
            } else {
                let stored = StoredRow::new("users", id.0);
                username = Some(stored.read("username", Username::parse(&text))?);
            }
        }
        found.insert(subject, Named { name, username, hint });
    }
    Ok(found)
}

/// No second name, for kinds whose names are enough: other kinds have a username or a hint here.
fn indistinct() -> SqlLiteral<Nullable<Text>> {
    sql("CAST(NULL AS text)")
}

/// A literal that marks which part of the statement a row comes from: a [kind](Subject::kind).
fn word(kind: &'static str) -> SqlLiteral<Text> {
    sql(&format!("'{kind}'"))
}

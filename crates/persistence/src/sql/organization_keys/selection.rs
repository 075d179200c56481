//! The keys that an owner selects.

use chrono::{DateTime, Utc};
use diesel::dsl::{Eq, IntoBoxed};
use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, QueryDsl};
use diesel::sql_types::Bool;
use diesel::{BoxableExpression, QueryResult};
use futures_util::future::BoxFuture;
use keyward_domain::administration::ports::KeySelection;
use keyward_domain::id::{ApiKeyId, MembershipId, OrganizationId};
use keyward_domain::ports::DescendantKeys;
use uuid::Uuid;

use super::super::dialect::{Database, Pipelined, RunQueryDsl, listed, of_organization, valid_from};
use super::super::schema::api_keys;
use super::super::validity::{key_is_due, key_is_valid};
use crate::columns::{StoredId, StoredMoment};

pub(super) type KeyCondition = Box<dyn BoxableExpression<api_keys::table, Database, SqlType = Bool>>;

/// Selects all keys of the organization: valid, expired and revoked ones.
pub(super) fn within(organization: OrganizationId) -> Eq<api_keys::organization_id, StoredId> {
    api_keys::organization_id.eq(StoredId(organization.as_uuid()))
}

/// A selection whose descendants are resolved.
pub(crate) enum Selected {
    Keys(Vec<Uuid>),
    OfConsumer(MembershipId),
    IssuedBefore(DateTime<Utc>),
}

impl Selected {
    pub(crate) fn new(
        connection: Pipelined<'_>,
        organization: OrganizationId,
        selection: KeySelection,
        now: DateTime<Utc>,
    ) -> BoxFuture<'_, QueryResult<Self>> {
        Box::pin(Self::find(connection, organization, selection, now))
    }

    async fn find(
        connection: Pipelined<'_>,
        organization: OrganizationId,
        selection: KeySelection,
        now: DateTime<Utc>,
    ) -> QueryResult<Self> {
        match selection {
            KeySelection::Keys {
                ids,
                descendants: DescendantKeys::Revoke,
            } => {
                let keys = valid_with_descendants(connection, organization, &ids, now).await?;
                Ok(Self::Keys(keys))
            }
            KeySelection::Keys {
                descendants: DescendantKeys::Keep,
                ..
            }
            | KeySelection::OfConsumer(_)
            | KeySelection::IssuedBefore(_) => Ok(Self::without_descendants(&selection)),
        }
    }

    /// The selected keys alone, whatever the selection says of their descendants.
    pub(super) fn without_descendants(selection: &KeySelection) -> Self {
        match selection {
            KeySelection::Keys { ids, descendants: _ } => {
                Self::Keys(ids.iter().map(|id| id.as_uuid()).collect())
            }
            KeySelection::OfConsumer(consumer) => Self::OfConsumer(*consumer),
            KeySelection::IssuedBefore(moment) => Self::IssuedBefore(moment.get()),
        }
    }
}

/// The valid keys among these keys and their descendants.
pub(super) async fn valid_with_descendants(
    connection: Pipelined<'_>,
    organization: OrganizationId,
    ids: &[ApiKeyId],
    now: DateTime<Utc>,
) -> QueryResult<Vec<Uuid>> {
    let consumers = consumers_of_keys(connection, organization, ids).await?;
    let roots: Vec<Uuid> = ids.iter().map(|id| id.as_uuid()).collect();
    valid_from(connection, &consumers, &roots, now).await
}

/// The consumers of these keys.
pub(crate) fn consumers_of_keys<'a>(
    connection: Pipelined<'a>,
    organization: OrganizationId,
    keys: &'a [ApiKeyId],
) -> BoxFuture<'a, QueryResult<Vec<Uuid>>> {
    Box::pin(load_consumers_of_keys(connection, organization, keys))
}

async fn load_consumers_of_keys(
    mut connection: Pipelined<'_>,
    organization: OrganizationId,
    keys: &[ApiKeyId],
) -> QueryResult<Vec<Uuid>> {
    let consumers: Vec<StoredId> = api_keys::table
        .filter(within(organization))
        .filter(listed(keys.iter().map(|id| id.as_uuid())))
        .select(api_keys::consumer_id)
        .distinct()
        .load(&mut connection)
        .await?;
    Ok(consumers.into_iter().map(|consumer| consumer.0).collect())
}

/// The keys of the organization that were selected and are valid at a moment.
pub(crate) fn valid_of(
    organization: OrganizationId,
    selected: &Selected,
    now: DateTime<Utc>,
) -> KeyCondition {
    let valid = within(organization).and(key_is_valid(now.into()));
    match selected {
        Selected::Keys(ids) => Box::new(valid.and(listed(ids.iter().copied()))),
        Selected::OfConsumer(consumer) => Box::new(
            api_keys::consumer_id
                .eq(StoredId(consumer.as_uuid()))
                .and(key_is_valid(now.into()))
                .and(of_organization!(StoredId(organization.as_uuid()))),
        ),
        Selected::IssuedBefore(moment) => {
            Box::new(valid.and(api_keys::tree_began_at.lt(StoredMoment::from(*moment))))
        }
    }
}

/// The same keys in the order of an index that has them, the oldest first or those of the oldest trees.
pub(super) fn oldest_first(
    organization: OrganizationId,
    selected: &Selected,
    now: DateTime<Utc>,
) -> IntoBoxed<'static, api_keys::table, Database> {
    let valid = api_keys::table
        .filter(valid_of(organization, selected, now))
        .into_boxed();
    match selected {
        Selected::IssuedBefore(_) => valid.order((api_keys::tree_began_at, api_keys::id)),
        Selected::Keys(_) | Selected::OfConsumer(_) => valid.order(api_keys::id),
    }
}

/// The keys of the organization that were selected and whose planned end has come and is not recorded.
pub(crate) fn due_of_selection(
    organization: OrganizationId,
    selected: &Selected,
    now: DateTime<Utc>,
) -> KeyCondition {
    let due = within(organization).and(key_is_due(now.into()));
    match selected {
        Selected::Keys(ids) => Box::new(due.and(listed(ids.iter().copied()))),
        Selected::OfConsumer(consumer) => {
            Box::new(due.and(api_keys::consumer_id.eq(StoredId(consumer.as_uuid()))))
        }
        Selected::IssuedBefore(moment) => {
            Box::new(due.and(api_keys::tree_began_at.lt(StoredMoment::from(*moment))))
        }
    }
}

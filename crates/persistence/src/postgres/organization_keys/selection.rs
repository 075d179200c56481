//! Which keys an owner means.

use chrono::{DateTime, Utc};
use diesel::dsl::AssumeNotNull;
use diesel::pg::Pg;
use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, NullableExpressionMethods, QueryDsl};
use diesel::sql_types::Bool;
use diesel::{BoxableExpression, QueryResult};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::BoxFuture;
use keyward_domain::administration::ports::KeySelection;
use keyward_domain::id::{ApiKeyId, ConsumerId, OrganizationId};
use keyward_domain::ports::DescendantKeys;
use uuid::Uuid;

use crate::postgres::api_keys::lineage::valid_from;
use crate::postgres::schema::api_keys;

type KeyCondition = Box<dyn BoxableExpression<api_keys::table, Pg, SqlType = Bool>>;

/// Never absent once the database is up to date.
pub(super) fn organization_of_key() -> AssumeNotNull<api_keys::organization_id> {
    api_keys::organization_id.assume_not_null()
}

/// A selection in which every key is known that came from another one.
pub(super) enum Selected {
    Keys(Vec<Uuid>),
    OfConsumer(ConsumerId),
    IssuedBefore(DateTime<Utc>),
}

impl Selected {
    pub(super) fn new(
        connection: &AsyncPgConnection,
        organization: OrganizationId,
        selection: KeySelection,
    ) -> BoxFuture<'_, QueryResult<Self>> {
        Box::pin(Self::find(connection, organization, selection))
    }

    async fn find(
        connection: &AsyncPgConnection,
        organization: OrganizationId,
        selection: KeySelection,
    ) -> QueryResult<Self> {
        match selection {
            KeySelection::Keys {
                ids,
                descendants: DescendantKeys::Revoke,
            } => {
                let keys = valid_with_descendants(connection, organization, &ids).await?;
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

    /// What was selected itself.
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

/// The valid ones of these keys and of what came from them.
pub(super) async fn valid_with_descendants(
    connection: &AsyncPgConnection,
    organization: OrganizationId,
    ids: &[ApiKeyId],
) -> QueryResult<Vec<Uuid>> {
    let consumers = consumers_of_keys(connection, organization, ids).await?;
    let roots: Vec<Uuid> = ids.iter().map(|id| id.as_uuid()).collect();
    valid_from(connection, &consumers, &roots).await
}

/// Whose new keys a selection may come to have: none are born that were created before a moment that is settled.
pub(super) async fn consumers_of(
    connection: &AsyncPgConnection,
    organization: OrganizationId,
    selection: &KeySelection,
) -> QueryResult<Vec<Uuid>> {
    match selection {
        KeySelection::Keys { ids, descendants: _ } => consumers_of_keys(connection, organization, ids).await,
        KeySelection::OfConsumer(consumer) => Ok(vec![consumer.as_uuid()]),
        KeySelection::IssuedBefore(_) => Ok(Vec::new()),
    }
}

fn consumers_of_keys<'a>(
    connection: &'a AsyncPgConnection,
    organization: OrganizationId,
    keys: &'a [ApiKeyId],
) -> BoxFuture<'a, QueryResult<Vec<Uuid>>> {
    Box::pin(load_consumers_of_keys(connection, organization, keys))
}

async fn load_consumers_of_keys(
    mut connection: &AsyncPgConnection,
    organization: OrganizationId,
    keys: &[ApiKeyId],
) -> QueryResult<Vec<Uuid>> {
    let ids: Vec<Uuid> = keys.iter().map(|id| id.as_uuid()).collect();
    api_keys::table
        .filter(organization_of_key().eq(organization.as_uuid()))
        .filter(api_keys::id.eq_any(ids))
        .select(api_keys::consumer_id)
        .distinct()
        .load(&mut connection)
        .await
}

/// The valid keys of the organization that were selected.
pub(super) fn valid_of(organization: OrganizationId, selected: &Selected) -> KeyCondition {
    let valid = organization_of_key()
        .eq(organization.as_uuid())
        .and(api_keys::revoked_at.is_null());
    match selected {
        Selected::Keys(ids) => Box::new(valid.and(api_keys::id.eq_any(ids.clone()))),
        Selected::OfConsumer(consumer) => Box::new(valid.and(api_keys::consumer_id.eq(consumer.as_uuid()))),
        Selected::IssuedBefore(moment) => Box::new(valid.and(api_keys::created_at.lt(*moment))),
    }
}

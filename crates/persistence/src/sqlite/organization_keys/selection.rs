//! Which keys an owner means.

use chrono::{DateTime, Utc};
use diesel::dsl::sql;
use diesel::expression::{AsExpression, SqlLiteral, UncheckedBind};
use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, QueryDsl, RunQueryDsl, SqliteConnection};
use diesel::sql_types::{Bool, Text};
use diesel::sqlite::Sqlite;
use diesel::{BoxableExpression, QueryResult};
use keyward_domain::administration::ports::KeySelection;
use keyward_domain::id::{ApiKeyId, ConsumerId, OrganizationId};
use keyward_domain::ports::DescendantKeys;
use uuid::Uuid;

use crate::columns::StoredId;
use crate::sqlite::api_keys::lineage::valid_from;
use crate::sqlite::schema::{api_keys, memberships};

/// SQL with one text in it.
type ListedIn = SqlLiteral<Bool, UncheckedBind<SqlLiteral<Bool>, <String as AsExpression<Text>>::Expression>>;
type KeyCondition = Box<dyn BoxableExpression<api_keys::table, Sqlite, SqlType = Bool>>;

/// The keys of the organization.
pub(super) fn within(organization: OrganizationId) -> KeyCondition {
    let consumers = memberships::table
        .filter(memberships::organization_id.eq(StoredId(organization.as_uuid())))
        .select(memberships::id);
    Box::new(api_keys::consumer_id.eq_any(consumers))
}

/// A selection in which every key is known that came from another one.
pub(super) enum Selected {
    Keys(Vec<Uuid>),
    OfConsumer(ConsumerId),
    IssuedBefore(DateTime<Utc>),
}

impl Selected {
    pub(super) fn new(
        connection: &mut SqliteConnection,
        organization: OrganizationId,
        selection: KeySelection,
    ) -> QueryResult<Self> {
        match selection {
            KeySelection::Keys {
                ids,
                descendants: DescendantKeys::Revoke,
            } => Ok(Self::Keys(valid_with_descendants(
                connection,
                organization,
                &ids,
            )?)),
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
pub(super) fn valid_with_descendants(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    ids: &[ApiKeyId],
) -> QueryResult<Vec<Uuid>> {
    let roots: Vec<Uuid> = ids.iter().map(|id| id.as_uuid()).collect();
    let consumers: Vec<StoredId> = api_keys::table
        .filter(within(organization))
        .filter(listed(roots.iter().copied()))
        .select(api_keys::consumer_id)
        .distinct()
        .load(connection)?;
    valid_from(connection, &consumers, &roots)
}

/// The valid keys of the organization that were selected.
pub(super) fn valid_of(organization: OrganizationId, selected: &Selected) -> KeyCondition {
    let valid = within(organization).and(api_keys::revoked_at.is_null());
    match selected {
        Selected::Keys(ids) => Box::new(valid.and(listed(ids.iter().copied()))),
        Selected::OfConsumer(consumer) => {
            Box::new(valid.and(api_keys::consumer_id.eq(StoredId(consumer.as_uuid()))))
        }
        Selected::IssuedBefore(moment) => {
            Box::new(valid.and(api_keys::created_at.lt(moment.timestamp_millis())))
        }
    }
}

/// Whether a row of `api_keys` has one of these identifiers.
pub(in crate::sqlite) fn listed(ids: impl Iterator<Item = Uuid>) -> ListedIn {
    sql::<Bool>("api_keys.id IN (SELECT unhex(value) FROM json_each(")
        .bind::<Text, _>(as_json(ids))
        .sql("))")
}

/// SQLite takes a bounded number of parameters, and no lists: this is one text.
pub(in crate::sqlite) fn as_json(ids: impl Iterator<Item = Uuid>) -> String {
    let ids: Vec<String> = ids.map(|id| format!("\"{}\"", id.simple())).collect();
    format!("[{}]", ids.join(","))
}

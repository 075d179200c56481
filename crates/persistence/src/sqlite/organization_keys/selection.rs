//! Which keys an owner means.

use diesel::BoxableExpression;
use diesel::dsl::sql;
use diesel::expression::{AsExpression, SqlLiteral, UncheckedBind};
use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, QueryDsl};
use diesel::sql_types::{Binary, Bool, Text};
use diesel::sqlite::Sqlite;
use keyward_domain::administration::ports::KeySelection;
use keyward_domain::id::{ApiKeyId, OrganizationId};
use keyward_domain::ports::DescendantKeys;
use uuid::Uuid;

use crate::sqlite::columns::StoredId;
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

/// The valid keys of the organization that were selected.
pub(super) fn valid_of(organization: OrganizationId, selection: &KeySelection) -> KeyCondition {
    let valid = within(organization).and(api_keys::revoked_at.is_null());
    match selection {
        KeySelection::Keys { ids, descendants } => {
            let ids = ids.iter().map(|id| id.as_uuid());
            match descendants {
                DescendantKeys::Keep => Box::new(valid.and(listed(ids))),
                DescendantKeys::Revoke => Box::new(valid.and(listed_or_descends(ids))),
            }
        }
        KeySelection::OfConsumer(consumer) => {
            Box::new(valid.and(api_keys::consumer_id.eq(StoredId(consumer.as_uuid()))))
        }
        KeySelection::IssuedBefore(moment) => {
            Box::new(valid.and(api_keys::created_at.lt(moment.timestamp_millis())))
        }
    }
}

/// The family of a key: itself, its ancestors that are kept, and the descendants of all of these; only such as the
/// organization has. `UNION` ends the search even if rows pointed at each other in a circle.
pub(super) fn family_of(organization: OrganizationId, id: ApiKeyId) -> KeyCondition {
    let family = sql::<Bool>(
        "api_keys.id IN (WITH RECURSIVE line AS (\
             SELECT own.id, coalesce(own.adopted_by_key_id, own.created_by_key_id) AS next_above \
             FROM api_keys own WHERE own.id = ",
    )
    .bind::<Binary, _>(StoredId(id.as_uuid()))
    .sql(
        " UNION SELECT parent.id, coalesce(parent.adopted_by_key_id, parent.created_by_key_id) \
             FROM api_keys parent JOIN line ON parent.id = line.next_above\
         ), family AS (SELECT line.id FROM line \
             UNION SELECT child.id FROM api_keys child \
             JOIN family ON coalesce(child.adopted_by_key_id, child.created_by_key_id) = family.id \
             WHERE still_awaited(child.id)\
         ) SELECT id FROM family)",
    );
    Box::new(within(organization).and(family))
}

/// Whether a row of `api_keys` has one of these identifiers.
pub(in crate::sqlite) fn listed(ids: impl Iterator<Item = Uuid>) -> ListedIn {
    sql::<Bool>("api_keys.id IN (SELECT unhex(value) FROM json_each(")
        .bind::<Text, _>(as_json(ids))
        .sql("))")
}

/// Whether it has one of these or descends from one, through keys in whatever state. Every key of a lineage has one
/// consumer, so the organization is asked of the result only.
fn listed_or_descends(ids: impl Iterator<Item = Uuid>) -> ListedIn {
    sql::<Bool>(
        "api_keys.id IN (WITH RECURSIVE lineage AS (\
             SELECT root.id FROM api_keys root WHERE root.id IN (SELECT unhex(value) FROM json_each(",
    )
    .bind::<Text, _>(as_json(ids))
    .sql(
        ")) UNION SELECT child.id FROM api_keys child \
             JOIN lineage ON coalesce(child.adopted_by_key_id, child.created_by_key_id) = lineage.id \
             WHERE still_awaited(child.id)\
         ) SELECT id FROM lineage)",
    )
}

/// SQLite takes a bounded number of parameters, and no lists: this is one text.
pub(in crate::sqlite) fn as_json(ids: impl Iterator<Item = Uuid>) -> String {
    let ids: Vec<String> = ids.map(|id| format!("\"{}\"", id.simple())).collect();
    format!("[{}]", ids.join(","))
}

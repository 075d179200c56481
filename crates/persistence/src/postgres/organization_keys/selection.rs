//! Which keys an owner means.

use diesel::BoxableExpression;
use diesel::dsl::{AssumeNotNull, sql};
use diesel::pg::Pg;
use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, NullableExpressionMethods};
use diesel::sql_types::{Array, Bool, Uuid as SqlUuid};
use keyward_domain::administration::ports::KeySelection;
use keyward_domain::id::OrganizationId;
use keyward_domain::ports::DescendantKeys;
use uuid::Uuid;

use crate::postgres::schema::api_keys;

type KeyCondition = Box<dyn BoxableExpression<api_keys::table, Pg, SqlType = Bool>>;

/// Never absent once the database is up to date.
pub(super) fn organization_of_key() -> AssumeNotNull<api_keys::organization_id> {
    api_keys::organization_id.assume_not_null()
}

/// The valid keys of the organization that were selected.
pub(super) fn valid_of(organization: OrganizationId, selection: &KeySelection) -> KeyCondition {
    let valid = organization_of_key()
        .eq(organization.as_uuid())
        .and(api_keys::revoked_at.is_null());
    match selection {
        KeySelection::Keys { ids, descendants } => {
            let ids: Vec<Uuid> = ids.iter().map(|id| id.as_uuid()).collect();
            match descendants {
                DescendantKeys::Keep => Box::new(valid.and(api_keys::id.eq_any(ids))),
                DescendantKeys::Revoke => Box::new(valid.and(are_or_descend_from(organization, ids))),
            }
        }
        KeySelection::OfConsumer(consumer) => {
            Box::new(valid.and(api_keys::consumer_id.eq(consumer.as_uuid())))
        }
        KeySelection::IssuedBefore(moment) => Box::new(valid.and(api_keys::created_at.lt(*moment))),
    }
}

/// These keys and their descendants, through keys in whatever state; only such as the organization has.
fn are_or_descend_from(organization: OrganizationId, ids: Vec<Uuid>) -> KeyCondition {
    Box::new(
        sql::<Bool>(
            "api_keys.id IN (WITH RECURSIVE lineage AS (SELECT root.id FROM api_keys root WHERE root.id = ANY(",
        )
        .bind::<Array<SqlUuid>, _>(ids)
        .sql(") AND root.organization_id = ")
        .bind::<SqlUuid, _>(organization.as_uuid())
        .sql(
            " UNION SELECT child.id FROM api_keys child \
                 JOIN lineage ON coalesce(child.adopted_by_key_id, child.created_by_key_id) = lineage.id \
                 WHERE child.organization_id = ",
        )
        .bind::<SqlUuid, _>(organization.as_uuid())
        .sql(") SELECT id FROM lineage)"),
    )
}

/// The family of a key: itself, its ancestors that are kept, and the descendants of all of these. `UNION` ends the
/// search even if rows pointed at each other in a circle.
pub(super) fn family_of(organization: OrganizationId, id: Uuid) -> KeyCondition {
    Box::new(
        sql::<Bool>(
            "api_keys.id IN (WITH RECURSIVE line AS (\
                 SELECT own.id, coalesce(own.adopted_by_key_id, own.created_by_key_id) AS next_above \
                 FROM api_keys own WHERE own.id = ",
        )
        .bind::<SqlUuid, _>(id)
        .sql(" AND own.organization_id = ")
        .bind::<SqlUuid, _>(organization.as_uuid())
        .sql(
            " UNION SELECT parent.id, coalesce(parent.adopted_by_key_id, parent.created_by_key_id) \
                 FROM api_keys parent JOIN line ON parent.id = line.next_above WHERE parent.organization_id = ",
        )
        .bind::<SqlUuid, _>(organization.as_uuid())
        .sql(
            "), family AS (SELECT line.id FROM line \
                 UNION SELECT child.id FROM api_keys child \
                 JOIN family ON coalesce(child.adopted_by_key_id, child.created_by_key_id) = family.id \
                 WHERE child.organization_id = ",
        )
        .bind::<SqlUuid, _>(organization.as_uuid())
        .sql(") SELECT id FROM family)"),
    )
}

//! What SQLite is asked of an organization's keys in words of its own: it locks none, and its planner is led by the hand.

pub(super) mod revoke;
pub(super) mod sources;

use diesel::BoxableExpression;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel::sql_types::Bool;
use diesel::sqlite::Sqlite;
use keyward_domain::id::OrganizationId;

use super::schema::{api_keys, memberships};
use crate::columns::StoredId;

type KeyCondition = Box<dyn BoxableExpression<api_keys::table, Sqlite, SqlType = Bool>>;

/// The keys of the organization.
pub(super) fn within(organization: OrganizationId) -> KeyCondition {
    let consumers = memberships::table
        .filter(memberships::organization_id.eq(StoredId(organization.as_uuid())))
        .select(memberships::id);
    Box::new(api_keys::consumer_id.eq_any(consumers))
}

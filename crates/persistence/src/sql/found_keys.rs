//! Rows of the queries about keys that each database has in SQL of its own.

use diesel::dsl::SqlTypeOf;
use diesel::prelude::QueryableByName;
use diesel::sql_types::{BigInt, Nullable};
use uuid::Uuid;

use super::schema::api_keys;
use crate::columns::StoredId;
use crate::key_tree::{ChainKey, Step};

type Id = SqlTypeOf<api_keys::id>;

#[derive(QueryableByName)]
pub(crate) struct FoundKey {
    #[diesel(sql_type = Id)]
    id: StoredId,
}

impl FoundKey {
    pub(crate) fn ids(found: Vec<Self>) -> Vec<Uuid> {
        found.into_iter().map(|key| key.id.0).collect()
    }
}

#[derive(QueryableByName)]
pub(crate) struct FoundStep {
    #[diesel(sql_type = Nullable<Id>)]
    below: Option<StoredId>,
    #[diesel(sql_type = Id)]
    id: StoredId,
}

impl From<FoundStep> for Step {
    fn from(row: FoundStep) -> Self {
        (row.below.map(|below| below.0), row.id.0)
    }
}

#[derive(QueryableByName)]
pub(crate) struct FoundChainKey {
    #[diesel(sql_type = Id)]
    id: StoredId,
    #[diesel(sql_type = BigInt)]
    depth: i64,
}

impl From<FoundChainKey> for ChainKey {
    fn from(row: FoundChainKey) -> Self {
        (row.id.0, row.depth)
    }
}

#[derive(QueryableByName)]
pub(crate) struct Counted {
    #[diesel(sql_type = BigInt)]
    pub(crate) count: i64,
}

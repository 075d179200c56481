//! What queries of key trees find.

use diesel::prelude::QueryableByName;
use diesel::sql_types::{BigInt, Nullable};
use uuid::Uuid;

use super::dialect::Id;
use crate::columns::StoredId;
use crate::key_tree::{ChainKey, Step};

#[derive(QueryableByName)]
pub(crate) struct FoundStep {
    #[diesel(sql_type = Nullable<Id>)]
    below: Option<StoredId>,
    #[diesel(sql_type = Id)]
    id: StoredId,
}

impl From<FoundStep> for Step {
    fn from(row: FoundStep) -> Self {
        (row.below.map(|id| id.0), row.id.0)
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
pub(crate) struct FoundKey {
    #[diesel(sql_type = Id)]
    id: StoredId,
}

impl From<FoundKey> for Uuid {
    fn from(row: FoundKey) -> Self {
        row.id.0
    }
}

#[derive(QueryableByName)]
pub(crate) struct Counted {
    #[diesel(sql_type = BigInt)]
    pub(crate) count: i64,
}

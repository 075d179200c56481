//! Statements that are prepared once for each connection, since their text is always the same.
//!
//! diesel takes an UPDATE, an ON CONFLICT and SQL in full for statements whose text may depend on the values, and prepares
//! them each time. That is one more round trip to the server.

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};

/// A statement whose text is always the same.
pub(super) struct PreparedOnce<Q>(pub(super) Q);

impl<Q: Query> Query for PreparedOnce<Q> {
    type SqlType = Q::SqlType;
}

/// It is known by its text.
impl<Q> QueryId for PreparedOnce<Q> {
    type QueryId = ();

    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<Q: QueryFragment<Pg>> QueryFragment<Pg> for PreparedOnce<Q> {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        self.0.walk_ast(out)
    }

    fn is_safe_to_cache_prepared(&self, _: &Pg) -> QueryResult<bool> {
        Ok(true)
    }
}

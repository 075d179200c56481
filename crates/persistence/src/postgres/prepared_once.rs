//! Statements with constant text, which are prepared once per connection.
//!
//! diesel assumes that the text of an UPDATE, an ON CONFLICT or raw SQL may depend on the values, and
//! prepares it each time, which costs another round trip.

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};

/// A statement with constant text.
pub(super) struct PreparedOnce<Q>(pub(super) Q);

impl<Q: Query> Query for PreparedOnce<Q> {
    type SqlType = Q::SqlType;
}

/// Identified by its text.
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

//! The first rows of a query, with their number in its text, and perhaps locked.
//!
//! diesel makes the number a parameter. A plan for any values then expects a tenth of all rows to be wanted,
//! and PostgreSQL makes one for these values each time because that seems to cost less.

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};

/// The first `rows` rows of a query without LIMIT.
pub(super) struct FirstRows<Q> {
    pub(super) query: Q,
    pub(super) rows: i64,
    /// The locking clause behind it.
    pub(super) locking: &'static str,
}

impl<Q: Query> Query for FirstRows<Q> {
    type SqlType = Q::SqlType;
}

/// Identified by its text.
impl<Q> QueryId for FirstRows<Q> {
    type QueryId = ();

    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<Q: QueryFragment<Pg>> QueryFragment<Pg> for FirstRows<Q> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        self.query.walk_ast(out.reborrow())?;
        out.push_sql(" LIMIT ");
        out.push_sql(&self.rows.to_string());
        out.push_sql(self.locking);
        Ok(())
    }
}

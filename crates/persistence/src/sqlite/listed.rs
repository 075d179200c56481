//! Lists of identifiers.

use diesel::dsl::sql;
use diesel::expression::{AsExpression, SqlLiteral, UncheckedBind};
use diesel::sql_types::{Bool, Text};
use uuid::Uuid;

/// SQL with one text in it.
type ListedIn = SqlLiteral<Bool, UncheckedBind<SqlLiteral<Bool>, <String as AsExpression<Text>>::Expression>>;

/// Whether a row of `api_keys` has one of these identifiers.
pub(super) fn listed(ids: impl Iterator<Item = Uuid>) -> ListedIn {
    sql::<Bool>("api_keys.id IN (SELECT unhex(value) FROM json_each(")
        .bind::<Text, _>(as_json(ids))
        .sql("))")
}

/// SQLite takes a bounded number of parameters, and no lists: this is one text.
pub(super) fn as_json(ids: impl Iterator<Item = Uuid>) -> String {
    let ids: Vec<String> = ids.map(|id| format!("\"{}\"", id.simple())).collect();
    format!("[{}]", ids.join(","))
}

//! Lists of identifiers.

use diesel::dsl::sql;
use diesel::expression::{AsExpression, SqlLiteral, UncheckedBind};
use diesel::sql_types::{Bool, Text};
use uuid::Uuid;

/// A SQL condition with one text parameter.
type ListedIn = SqlLiteral<Bool, UncheckedBind<SqlLiteral<Bool>, <String as AsExpression<Text>>::Expression>>;

/// The condition that a row of `api_keys` has one of these identifiers.
pub(super) fn listed(ids: impl Iterator<Item = Uuid>) -> ListedIn {
    sql::<Bool>("api_keys.id IN (SELECT unhex(value) FROM json_each(")
        .bind::<Text, _>(as_json(ids))
        .sql("))")
}

/// The identifiers as one JSON text: SQLite limits the number of parameters and has no list type.
pub(super) fn as_json(ids: impl Iterator<Item = Uuid>) -> String {
    let ids: Vec<String> = ids.map(|id| format!("\"{}\"", id.simple())).collect();
    format!("[{}]", ids.join(","))
}

//! Locks for requests that are being handled, on any server.

use diesel::QueryResult;
use diesel::dsl::sql;
use diesel::sql_types::{Bool, Integer};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::id::MembershipId;
use keyward_domain::keys::IdempotencyKey;

use super::begin::begin;
use super::dialect::pipeline;
use super::prepared_once::PreparedOnce;

/// The first number of the advisory locks that requests hold (ASCII: `reqs`).
const REQUESTS: i32 = 0x7265_7173;

/// Whether the transaction of a change has begun before its first statements.
#[derive(Clone, Copy)]
pub(super) struct Begun(bool);

/// Begins the transaction of a change whose request has an idempotency key; any other change begins with its
/// first statements. `None` if another transaction handles the same request.
///
/// It costs a round trip of its own, because statements that are sent with it would wait for the other one.
/// Two different requests have the same lock once in 2^32 times; then one of them is asked to repeat.
pub(super) async fn begin_request(
    connection: &AsyncPgConnection,
    consumer: MembershipId,
    key: Option<IdempotencyKey>,
) -> QueryResult<Option<Begun>> {
    let Some(key) = key.filter(|key| key.request().is_some()) else {
        return Ok(Some(Begun(false)));
    };
    let ((), is_free) = pipeline!(
        connection,
        begin(connection),
        try_lock(connection, lock_number(consumer, key)),
    );
    Ok(is_free.then_some(Begun(true)))
}

/// Begins the transaction if it has not begun. In a pipeline, this is the first statement.
pub(super) async fn begin_unless(Begun(has_begun): Begun, connection: &AsyncPgConnection) -> QueryResult<()> {
    match has_begun {
        true => Ok(()),
        false => begin(connection).await,
    }
}

fn lock_number(consumer: MembershipId, key: IdempotencyKey) -> i32 {
    let both = consumer.as_uuid().as_u128() ^ u128::from_be_bytes(key.to_bytes());
    let [.., a, b, c, d] = both.to_be_bytes();
    i32::from_be_bytes([a, b, c, d])
}

/// Tries to acquire the lock of a request until the end of the transaction.
async fn try_lock(mut connection: &AsyncPgConnection, request: i32) -> QueryResult<bool> {
    let taken = sql::<Bool>("pg_try_advisory_xact_lock(")
        .bind::<Integer, _>(REQUESTS)
        .sql(", ")
        .bind::<Integer, _>(request)
        .sql(")");
    PreparedOnce(diesel::select(taken))
        .get_result(&mut connection)
        .await
}

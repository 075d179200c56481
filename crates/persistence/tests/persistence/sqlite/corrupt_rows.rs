//! Numbers that are no moments, which only SQLite can hold. For all other corruption see
//! `tests/persistence/both`.

use keyward_domain::ports::{ApiKeys, StorageError};

use crate::sqlite::fixture::Fixture;

#[tokio::test]
async fn out_of_range_time_is_named() {
    for (change, spoilt) in [
        ("created_at = 9223372036854775807", "created_at"),
        (
            "revoked_at = -9223372036854775808, revoked_by_kind = 'administrator', revoked_reason = 'leak'",
            "revoked_at",
        ),
        ("last_used_at = 9223372036854775807", "last_used_at"),
    ] {
        let fixture = Fixture::new().await;
        let (consumer, key) = (fixture.holder().consumer().id, fixture.key.key.id);
        fixture
            .directory
            .execute(&format!("UPDATE api_keys SET {change}"));
        match ApiKeys::find(&fixture.store, consumer, key).await {
            Err(StorageError::Corrupt {
                table, column, id, ..
            }) => {
                assert_eq!((table, column, id), ("api_keys", spoilt, key.to_string()));
            }
            other => panic!("{spoilt}: {other:?}"),
        }
    }
}

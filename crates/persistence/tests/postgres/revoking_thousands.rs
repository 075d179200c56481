//! One act that ends thousands of keys.

use chrono::TimeDelta;
use keyward_domain::administration::ports::{KeySelection, OrganizationKeyStore};
use keyward_domain::api_key::RevocationReason;
use keyward_domain::clock::Clock;

use crate::fixture::{Fixture, count};

const THOUSANDS: i64 = 5_000;

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_keys_end_in_one_act_with_an_event_each() {
    let fixture = Fixture::new().await;
    let owner = &fixture.owner;
    let (consumer, user) = (owner.membership.id, owner.user.id);
    fixture
        .client
        .batch_execute(&format!(
            "INSERT INTO api_keys
                 (id, consumer_id, digest, hint, name, description, search_text, created_by_user_id, created_at)
             SELECT gen_random_uuid(), '{consumer}', sha256(n::text::bytea), 'kwp_…abcd', 'key ' || n, '', 'key', '{user}',
                 '2026-01-01T00:00:00Z'
             FROM generate_series(2, {THOUSANDS}) AS n"
        ))
        .await
        .expect("keys");
    let moment = fixture.make.clock.now() + TimeDelta::days(1);
    let revoked = fixture
        .store
        .revoke(
            owner.organization.id,
            KeySelection::IssuedBefore(moment),
            RevocationReason::Owner,
            None,
            fixture.act(),
        )
        .await
        .expect("revoked");
    assert_eq!(revoked.len(), usize::try_from(THOUSANDS).expect("a count"));
    assert_eq!(
        count(&fixture.client, "api_keys WHERE revoked_at IS NULL").await,
        0
    );
    let told = "(SELECT DISTINCT subject_id FROM audit_events WHERE action = 'api_key.revoke') AS told";
    assert_eq!(count(&fixture.client, told).await, THOUSANDS);
}

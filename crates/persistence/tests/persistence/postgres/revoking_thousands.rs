//! A revocation of tens of thousands of keys, in the time that any change has.

use std::sync::Arc;
use std::time::Duration;

use keyward_domain::administration::ports::KeySelection;
use keyward_domain::administration::{Authority, OrganizationKeys};
use keyward_domain::audit::RequestSource;

use crate::postgres::fixture::{Fixture, connect, count};

const THOUSANDS: u32 = 60_000;
const VALID: &str = "api_keys WHERE revoked_at IS NULL";

/// They are from long before the one that it has already, and belong to three hundred former members.
async fn add_keys(fixture: &Fixture) {
    let owner = &fixture.owner;
    let (organization, user) = (owner.organization.id, owner.user.id);
    fixture
        .execute(&format!(
            "INSERT INTO memberships (id, organization_id, user_id, role, joined_at, ended_at,
                 end_came_at)
             SELECT gen_random_uuid(), '{organization}', '{user}', 'member', now(), now(), now() FROM generate_series(1, 300);
             SET session_replication_role = replica;
             INSERT INTO api_keys (id, consumer_id, organization_id, digest, hint, name, description, search_text,
                 created_by_user_id, created_at, tree_began_at, idle_since_day)
             SELECT gen_random_uuid(), former.id, '{organization}',
                 decode(md5(former.id::text || n) || md5('b' || former.id || n), 'hex'), 'kwp_…abcd', 'key ' || n, '',
                 'key', '{user}', '2020-01-01T00:00:00Z', '2020-01-01T00:00:00Z', 18262
             FROM memberships former, generate_series(1, {THOUSANDS} / 300) AS n WHERE ended_at IS NOT NULL"
        ))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn revocation_of_tens_of_thousands_of_keys_allows_concurrent_changes() {
    let fixture = Fixture::with(|config| {
        config.step_timeout = Duration::from_millis(1_500);
        config.answer_timeout = Duration::from_millis(1_900);
    })
    .await;
    add_keys(&fixture).await;
    let owner = &fixture.owner;
    let keys = OrganizationKeys::new(Arc::new(fixture.store.clone()), fixture.make.sources.clone());
    let authority = Authority::of_administrator(owner.organization.id);
    let moment = "2020-01-02T00:00:00Z".parse().expect("a moment");
    let selection: KeySelection = keys.issued_before(moment).expect("it is years ago");
    let revoking = tokio::spawn(async move {
        keys.revoke(&authority, selection, None, RequestSource::default(), None)
            .await
    });
    // Another client, which waits for the same lock as any administrative change of the organization.
    let other = connect(fixture.database.url()).await;
    let mut left_in_between = Vec::new();
    while !revoking.is_finished() {
        other
            .batch_execute(&format!(
                "UPDATE organizations SET name = name WHERE id = '{}'",
                owner.organization.id
            ))
            .await
            .expect("a change");
        left_in_between.push(count(&fixture.client, VALID).await);
    }
    let revoked = revoking.await.expect("no panic").expect("revoked");

    assert_eq!(revoked.count, THOUSANDS);
    assert_eq!(count(&fixture.client, VALID).await, 1, "the key of today");
    let recorded =
        "(SELECT DISTINCT subject_id FROM audit_events WHERE action = 'api_key.revoke') AS recorded";
    assert_eq!(count(&fixture.client, recorded).await, i64::from(THOUSANDS));
    let emptied = "access_changes WHERE concerns_kind = 'everyone'";
    assert_eq!(
        count(&fixture.client, emptied).await,
        0,
        "other organizations stay cached"
    );
    left_in_between.retain(|left| (2..i64::from(THOUSANDS)).contains(left));
    assert!(!left_in_between.is_empty(), "others have their turn in between");
}

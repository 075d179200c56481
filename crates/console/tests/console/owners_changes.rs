//! Forms of an owner who makes too many changes.

use chrono::TimeDelta;
use keyward_domain::membership::Role;
use keyward_domain::sign_in::ports::{AttemptKind, Throttle};
use keyward_domain::sign_in::throttle::ThrottleBucket;

use crate::running::Running;

#[tokio::test]
async fn owner_with_too_many_changes_must_wait() {
    let running = Running::new().await;
    let acme = running.installation.organization("Acme");
    let ada = running.installation.member(&acme, "ada", Role::Owner);
    let bucket = vec![ThrottleBucket::changes_by_owner(ada.user.id)];
    let (store, now) = (&running.installation.store, running.installation.now());
    while store
        .count_attempt(AttemptKind::OwnerChange, bucket.clone(), now)
        .await
        .expect("counted")
        .is_none()
    {}

    let browser = running.signed_in("ada").await;
    let new_project = "/organizations/acme/settings/projects/new";
    let form = browser.get(new_project).await;
    let fields = [
        ("idempotency_key", form.field("idempotency_key")),
        ("name", "Notes"),
    ];
    let page = browser.post(new_project, &fields).await;
    assert_eq!((page.status, page.header("retry-after")), (429, "1"));
    let told = "This one was not made. Go back and try again in 1 second. You can still revoke keys and remove members.";
    assert!(page.text().contains(told), "{}", page.text());
    let export = "/organizations/acme/settings/audit-log/export.csv";
    assert_eq!(browser.get(export).await.status, 429);

    running.installation.builder.clock.advance(TimeDelta::seconds(1));
    assert_eq!(browser.post(new_project, &fields).await.status, 303);
}

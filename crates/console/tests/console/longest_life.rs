//! The longest life of new keys: where owners set it, and what forms make of it.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use chrono::TimeDelta;
use futures_util::FutureExt;
use keyward_domain::administration::OrganizationKeys;
use keyward_domain::administration::ports::{MockOrganizationKeyStore, OrganizationKeyStore};
use keyward_domain::api_key::ApiKey;
use keyward_domain::audit::Action;
use keyward_domain::membership::Role;
use keyward_domain::ports::{ApiKeys, StorageError};
use keyward_domain::testing::TestInstallation;
use keyward_domain::validity::End;

use crate::browser::Browser;
use crate::running::{NEW, Running};

const GENERAL: &str = "/organizations/acme/settings/general";
const LIFE: &str = "/organizations/acme/settings/general/key-life";
const AUDIT_LOG: &str = "/organizations/acme/settings/audit-log";

#[tokio::test]
async fn owner_sets_and_removes_the_longest_life() {
    let (running, ada) = Running::with_ada().await;
    running
        .installation
        .member(&ada.organization, "grace", Role::Member);
    let (owner, member) = (running.signed_in("ada").await, running.signed_in("grace").await);
    for (days, says, value) in [
        ("90", "New keys expire after 90 days at the latest.", "90"),
        (" 1 ", "New keys expire after 1 day at the latest.", "1"),
        ("", "No expiration required for new keys.", ""),
    ] {
        let answer = owner.post(LIFE, &[("days", days)]).await;
        let page = owner.follow(&answer).await;
        assert!(page.shows("<h2>Key expiration</h2>"), "{}", page.body);
        assert!(page.text().contains(says), "{}", page.text());
        assert!(
            page.shows(&format!("inputmode=\"numeric\" value=\"{value}\"")),
            "{}",
            page.body
        );
        let seen = member.get(GENERAL).await;
        let is_told = seen.text().contains("at the latest");
        assert!(
            is_told != value.is_empty() && !seen.shows("inputmode"),
            "{}",
            seen.text()
        );
    }
    let events = running.installation.store.events();
    let told = events.iter().filter(|event| event.action == Action::LimitKeyLife);
    let values: Vec<_> = told
        .map(|event| [event.old_value.as_deref(), event.new_value.as_deref()])
        .collect();
    assert_eq!(
        values,
        [
            [None, Some("P90D")],
            [Some("P90D"), Some("P1D")],
            [Some("P1D"), None]
        ]
    );
    let log = owner.get(AUDIT_LOG).await.text();
    assert!(
        log.contains("ada changed the maximum lifetime of new API keys from 90 days to 1 day"),
        "{log}"
    );
    assert_eq!(member.post(LIFE, &[("days", "7")]).await.status, 404);
}

#[tokio::test]
async fn saving_the_same_longest_life_is_no_change() {
    let (running, _) = Running::with_ada().await;
    let owner = running.signed_in("ada").await;
    for _ in 0..12 {
        assert_eq!(owner.post(LIFE, &[("days", "90")]).await.status, 303);
    }
    assert_eq!(owner.post(LIFE, &[("days", "30")]).await.status, 303);
}

#[tokio::test]
async fn impossible_longest_life_is_refused_and_shown_again() {
    let (running, _) = Running::with_ada().await;
    let owner = running.signed_in("ada").await;
    for days in ["0", "-1", "3651", "1.5", "x", "99999999999999999999"] {
        let page = owner.post(LIFE, &[("days", days)]).await;
        assert_eq!(page.status, 422);
        let says = "The maximum lifetime must be a number of days from 1 to 3650.";
        assert!(page.text().contains(says), "{}", page.text());
        assert!(page.shows(&format!("value=\"{days}\"")), "{}", page.body);
    }
    let again = owner.get(LIFE).await;
    assert_eq!(again.status, 200, "who loads the page anew sees the form");
    assert!(again.shows("name=\"days\""), "{}", again.body);
    assert_eq!(owner.post(LIFE, &[]).await.status, 400);
    let events = running.installation.store.events();
    assert!(events.iter().all(|event| event.action != Action::LimitKeyLife));
}

#[tokio::test]
async fn form_of_a_new_key_offers_no_longer_life() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    browser.post(LIFE, &[("days", "30")]).await;
    let form = browser.get(NEW).await;
    assert!(
        form.text().contains("In 30 days (maximum lifetime)"),
        "{}",
        form.text()
    );
    assert!(form.shows("<option value=\"7\"") && !form.shows("<option value=\"60\""));
    let create = async |expiration: &str, at: &str| {
        let form = browser.get(NEW).await;
        let fields = [
            ("idempotency_key", form.field("idempotency_key")),
            ("name", "Deploy"),
            ("description", ""),
            ("expiration", expiration),
            ("expires_at", at),
        ];
        browser.post(NEW, &fields).await
    };
    let late = create("at", "2026-02-01T00:00:00").await;
    assert_eq!(late.status, 422);
    let says = "Expiration must be at most 30 days ahead, as the organization’s owners have set.";
    assert!(late.text().contains(says), "{}", late.text());
    assert_eq!(create("never", "").await.status, 200);
    let events = running.installation.store.events();
    let made = events.iter().filter(|event| event.action == Action::CreateApiKey);
    assert_eq!(made.count(), 1);
    let list = browser.get(crate::running::LIST).await;
    let in_30_days = (running.installation.now() + TimeDelta::days(30))
        .format("%-d %B %Y")
        .to_string();
    assert!(list.shows(&in_30_days), "{}", list.body);
}

const APPLY: &str = "/organizations/acme/settings/general/key-life/apply";

#[tokio::test]
async fn edit_form_offers_no_end_past_the_limit() {
    let (running, ada) = Running::with_ada().await;
    let free = running.installation.issue(&ada.as_holder(), "Free").await;
    let browser = running.signed_in("ada").await;
    browser.post(LIFE, &[("days", "45")]).await;
    let limited = running.installation.issue(&ada.as_holder(), "Limited").await;
    for (key, offered) in [
        (&limited.key, &["keep", "7", "30", "at"][..]),
        (&free.key, &["never", "7", "30", "60", "90", "at"]),
    ] {
        let form = browser
            .get(&format!("{}/{}/edit", crate::running::LIST, key.id))
            .await;
        let (_, select) = form.body.split_once("<select id=\"expiration\"").unwrap();
        let (select, _) = select.split_once("</select>").unwrap();
        let values: Vec<&str> = select
            .split("<option value=\"")
            .skip(1)
            .filter_map(|option| Some(option.split_once('"')?.0))
            .collect();
        assert_eq!(values, offered, "{select}");
    }
}

#[tokio::test]
async fn removed_maximum_lifetime_is_not_applied() {
    let (running, ada) = Running::with_ada().await;
    let old = running.installation.issue(&ada.as_holder(), "Old deploy").await;
    let owner = running.signed_in("ada").await;
    owner.post(LIFE, &[("days", "30")]).await;
    owner.post(LIFE, &[("days", "")]).await;
    let answer = owner.post(APPLY, &[("days", "30"), ("confirm", "yes")]).await;
    let page = owner.follow(&answer).await;
    assert!(
        page.text().contains("The maximum lifetime was removed meanwhile"),
        "{}",
        page.text()
    );
    assert!(page.shows("class=\"notice bad\""), "{}", page.body);
    assert_eq!(stored_end(&running, &old.key).await, None);
}

async fn stored_end(running: &Running, key: &ApiKey) -> Option<End> {
    let store = &running.installation.store;
    let found = ApiKeys::find(store, key.consumer_id, key.id).await;
    found.expect("the store answers").expect("a stored key").end()
}

#[tokio::test]
async fn owner_applies_the_longest_life_after_a_preview() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let grace = installation.member(&ada.organization, "grace", Role::Member);
    let old = installation.issue(&grace.as_holder(), "Old deploy").await;
    installation.builder.clock.advance(TimeDelta::days(40));
    let new = installation.issue(&ada.as_holder(), "New deploy").await;
    let (owner, member) = (running.signed_in("ada").await, running.signed_in("grace").await);
    assert_eq!(
        owner.get(APPLY).await.location(),
        GENERAL,
        "there is no longest life"
    );
    owner.post(LIFE, &[("days", "30")]).await;
    assert!(owner.get(GENERAL).await.shows(&format!("href=\"{APPLY}\"")));

    let confirmed = [("days", "30"), ("confirm", "yes")];
    assert_eq!(member.get(APPLY).await.status, 404);
    assert_eq!(member.post(APPLY, &confirmed).await.status, 404);
    let preview = owner.get(APPLY).await.text();
    for words in [
        "Shorten the lifetime of 2 keys?",
        "Old deploy",
        "New deploy",
        "instead of never",
        "You can’t undo this. As long as the maximum lifetime applies, users can’t extend",
    ] {
        assert!(preview.contains(words), "{words}: {preview}");
    }
    let unticked = owner.post(APPLY, &[("days", "30")]).await;
    assert_eq!(unticked.status, 422);
    let changed = owner.post(APPLY, &[("days", "29"), ("confirm", "yes")]).await;
    assert_eq!(changed.status, 409, "{}", changed.text());
    for key in [&old.key, &new.key] {
        assert_eq!(stored_end(&running, key).await, None, "nothing has changed");
    }

    let answer = owner.post(APPLY, &confirmed).await;
    let says = owner.follow(&answer).await.text();
    assert!(says.contains("The maximum lifetime was applied"), "{says}");
    let now = installation.now();
    for (key, days) in [(&old.key, 7), (&new.key, 30)] {
        let end = stored_end(&running, key).await;
        assert_eq!(end, Some(End::Planned(now + TimeDelta::days(days))));
    }
    let again = owner.get(APPLY).await.text();
    assert!(again.contains("No key to change"), "{again}");
    for days in ["", "0", "-1", "3651", "many"] {
        let refused = owner.post(APPLY, &[("days", days), ("confirm", "yes")]).await;
        assert_eq!(refused.status, 400, "{days}");
    }
}

#[tokio::test]
async fn preview_leads_to_pages_of_all_keys_that_it_counts() {
    let (running, ada) = Running::with_ada().await;
    for number in 0..53 {
        let name = format!("key-{number:02}.");
        running.installation.issue(&ada.as_holder(), &name).await;
    }
    let owner = running.signed_in("ada").await;
    owner.post(LIFE, &[("days", "30")]).await;
    running.installation.issue(&ada.as_holder(), "ends in time").await;
    let preview = owner.get(APPLY).await;
    assert!(
        preview.text().contains("Shorten the lifetime of 53 keys?"),
        "{}",
        preview.text()
    );
    assert!(preview.text().contains("Showing 50 of 53 keys"));
    let all = format!("{}/all?shortened_by=30", crate::running::LIST);
    assert!(preview.shows(&format!("href=\"{all}\"")), "{}", preview.body);

    let first = owner.get(&all).await;
    let second = owner.get(&first.next_page().unwrap()).await;
    assert_eq!(second.next_page(), None);
    let back = format!("href=\"{APPLY}\">Apply maximum lifetime");
    assert!(first.shows(&back) && second.shows(&back), "{}", second.body);
    for number in 0..53 {
        let name = format!("<bdi>key-{number:02}.</bdi></a>");
        assert_eq!(first.shows(&name), number >= 3, "{name}");
        assert_eq!(second.shows(&name), number < 3, "{name}");
    }
    let text = first.text();
    assert!(!text.contains("ends in time"), "{text}");
    for words in [
        "Only keys that will expire sooner if the maximum lifetime of 30 days is applied.",
        "then expires",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// Two keys a batch, which takes two seconds; the batches of these numbers fail, and previews if `counts` is false.
fn slow_batches(installation: &TestInstallation, failing: &'static [u32], counts: bool) -> OrganizationKeys {
    let (store, clock) = (
        installation.store.clone(),
        Arc::clone(&installation.builder.clock),
    );
    let (of, batches) = (store.clone(), AtomicU32::new(0));
    let mut slow = MockOrganizationKeyStore::new();
    slow.expect_longest_life_preview()
        .returning(move |organization, longest, now| {
            if !counts {
                return Err(StorageError::Unavailable("counting takes too long".into()));
            }
            let counted = store.longest_life_preview(organization, longest, now);
            counted.now_or_never().expect("memory does not wait")
        });
    slow.expect_apply_longest_life()
        .returning(move |organization, longest, after, at_most, act| {
            if failing.contains(&batches.fetch_add(1, Ordering::Relaxed)) {
                return Err(StorageError::Unavailable("it is restarted".into()).into());
            }
            clock.advance(TimeDelta::seconds(2));
            let applied = of.apply_longest_life(organization, longest, after, at_most, act);
            applied.now_or_never().expect("memory does not wait")
        });
    let keys = OrganizationKeys::new(Arc::new(slow), installation.builder.sources.clone());
    keys.with_batch_size(NonZeroU32::new(2).unwrap())
}

/// Ada's console with that many of her keys and a longest life of 30 days.
async fn with_keys(keys: u32, failing: &'static [u32], counts: bool) -> (Running, Browser) {
    let installation = TestInstallation::new();
    let acme = installation.organization("Acme");
    let ada = installation.member(&acme, "ada", Role::Owner);
    for number in 0..keys {
        installation
            .issue(&ada.as_holder(), &format!("key {number}"))
            .await;
    }
    let slow = slow_batches(&installation, failing, counts);
    let running = Running::with(installation, None, |console| console.organization_keys = slow).await;
    let owner = running.signed_in("ada").await;
    owner.post(LIFE, &[("days", "30")]).await;
    (running, owner)
}

#[tokio::test]
async fn longest_life_applied_in_part_reports_progress_and_continues() {
    let (_running, owner) = with_keys(9, &[2, 3, 5, 6], true).await;
    let confirmed = [("days", "30"), ("confirm", "yes")];
    let at_time_budget = owner.post(APPLY, &confirmed).await;
    assert_eq!(
        owner.post(APPLY, &confirmed).await.status,
        503,
        "nothing was done"
    );
    let at_failure = owner.post(APPLY, &confirmed).await;
    for (page, done, left) in [
        (
            at_time_budget,
            "4 keys now expire sooner",
            "Shorten the lifetime of 5 keys?",
        ),
        (
            at_failure,
            "2 keys now expire sooner",
            "Shorten the lifetime of 3 keys?",
        ),
    ] {
        let text = page.text();
        for words in [done, left, "Continue with the rest."] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(page.body.contains(">Continue</button>"), "{}", page.body);
    }
    let answer = owner.post(APPLY, &confirmed).await;
    let says = owner.follow(&answer).await.text();
    assert!(says.contains("The maximum lifetime was applied"), "{says}");
}

#[tokio::test]
async fn no_longest_life_is_applied_without_a_preview() {
    let (running, owner) = with_keys(1, &[], false).await;
    let confirmed = [("days", "30"), ("confirm", "yes")];
    for page in [
        owner.get(APPLY).await,
        owner.post(APPLY, &confirmed[..1]).await,
        owner.post(APPLY, &confirmed).await,
    ] {
        assert_eq!(page.status, 503, "{}", page.text());
        assert!(!page.shows("name=\"confirm\""), "{}", page.body);
    }
    let events = running.installation.store.events();
    assert!(events.iter().all(|event| event.action != Action::ChangeExpiry));
}

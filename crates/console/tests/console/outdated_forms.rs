//! Forms of settings that another owner changed after they were opened.

use keyward_domain::membership::Role;

use crate::projects::{PROJECTS, project};
use crate::running::Running;

const GENERAL: &str = "/organizations/acme/settings/general";

/// A form, and the field that it changes.
struct Form {
    page: String,
    sent_to: String,
    field: &'static str,
    /// The field's value when the form is opened, another owner's value, and a third one.
    values: [&'static str; 3],
    /// The first two in the hidden field `seen`.
    seen: [&'static str; 2],
    /// How the page says the second.
    now: &'static str,
    /// A value that is never accepted.
    invalid: Option<&'static str>,
}

#[tokio::test]
async fn outdated_form_changes_nothing_until_sent_again() {
    let (running, ada) = Running::with_ada().await;
    let grace = running
        .installation
        .member(&ada.organization, "grace", Role::Member);
    let robots = project(&running, &ada, "Robots").await;
    let owner = running.signed_in("ada").await;
    let expiration = format!(
        "/organizations/acme/settings/members/{}/expiration",
        grace.membership.id
    );
    for Form {
        page,
        sent_to,
        field,
        values: [opened_with, others, third],
        seen: [seen, seen_next],
        now,
        invalid,
    } in [
        Form {
            page: expiration.clone(),
            sent_to: expiration,
            field: "expiration",
            values: ["never", "7", "30"],
            seen: ["", "2026-01-08T00:00:00+00:00"],
            now: "The membership now ends 8 January 2026",
            invalid: None,
        },
        Form {
            page: GENERAL.to_owned(),
            sent_to: format!("{GENERAL}/new-keys"),
            field: "manage_keys",
            values: ["yes", "no", "yes"],
            seen: ["yes", "no"],
            now: "New keys cannot manage other keys by default now.",
            invalid: None,
        },
        Form {
            page: GENERAL.to_owned(),
            sent_to: format!("{GENERAL}/key-life"),
            field: "days",
            values: ["", "90", "30"],
            seen: ["", "90"],
            now: "The maximum lifetime is 90 days now.",
            invalid: Some("0"),
        },
        Form {
            page: format!("{PROJECTS}/{}", robots.id),
            sent_to: format!("{PROJECTS}/{}", robots.id),
            field: "name",
            values: ["Robots", "Arms", "Legs"],
            seen: ["Robots", "Arms"],
            now: "The project is called “Arms” now.",
            invalid: Some(" "),
        },
    ] {
        let hidden = |value: &str| format!("name=\"seen\" value=\"{value}\"");
        let opened = owner.get(&page).await;
        assert!(opened.shows(&hidden(seen)), "{sent_to}");
        let saved = owner.post(&sent_to, &[(field, others), ("seen", seen)]).await;
        assert_eq!(saved.status, 303, "{sent_to}: {}", saved.text());
        let repeated = owner.post(&sent_to, &[(field, others), ("seen", seen)]).await;
        assert_eq!(repeated.status, 303, "{sent_to}: what it asks for is so already");

        if let Some(invalid) = invalid {
            let refused = owner.post(&sent_to, &[(field, invalid), ("seen", seen)]).await;
            assert_eq!(refused.status, 422, "{sent_to}");
            assert!(
                refused.shows(&hidden(seen)),
                "{sent_to}: others' change is still unseen"
            );
        }
        for wanted in [opened_with, third] {
            let refused = owner.post(&sent_to, &[(field, wanted), ("seen", seen)]).await;
            assert_eq!(refused.status, 409, "{sent_to}");
            let text = refused.text();
            assert!(
                text.contains("changed after you opened the page") && text.contains(now),
                "{text}"
            );
            assert!(refused.shows("<title>Error: ") && refused.shows("autofocus"));
            assert!(refused.shows(&hidden(seen_next)), "{sent_to}");
        }
        let again = owner
            .post(&sent_to, &[(field, opened_with), ("seen", seen_next)])
            .await;
        assert_eq!(again.status, 303, "{sent_to}: {}", again.text());
    }
}

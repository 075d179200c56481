//! The rules of a field are shown beside it before they are broken, and are also read out by screen readers.

use keyward_domain::api_key::{KeyDescription, KeyName};
use keyward_domain::audit::RequestSource;
use keyward_domain::organization::OrganizationName;
use keyward_domain::sign_in::password::Password;
use keyward_domain::user::{DisplayName, Username};

use crate::browser::Answer;
use crate::running::{LIST, NEW, Running};

/// The description of a field, before and after an error.
fn hint<'a>(page: &'a Answer, field: &str) -> &'a str {
    let (_, after) = page.body.split_once(&format!(" name=\"{field}\"")).unwrap();
    let (element, _) = after.split_once('>').unwrap();
    let (_, described_by) = element.split_once("aria-describedby=\"").expect(field);
    let (ids, _) = described_by.split_once('"').unwrap();
    let id = format!("{field}-hint");
    assert!(ids.split(' ').any(|described| described == id), "{field}: {ids}");
    let (_, hint) = page.body.split_once(&format!(" id=\"{id}\">")).unwrap();
    hint.split_once("</p>").unwrap().0
}

#[tokio::test]
async fn setup_form_fields_state_their_rules() {
    let running = Running::new().await;
    let token = running
        .installation
        .setup()
        .create_link(RequestSource::default())
        .await
        .unwrap();
    let browser = running.visitor();
    let page = browser.open(&format!("/setup?token={}", token.expose())).await;
    let fields = [
        ("token", token.expose()),
        ("organization", ""),
        ("display_name", ""),
        ("username", "Ada!"),
        ("password", "short"),
    ];
    let refused = browser.post("/setup", &fields).await;
    assert_eq!(refused.status, 422);
    for page in [&page, &refused] {
        for (field, rules) in [
            ("organization", &[OrganizationName::MAX][..]),
            ("display_name", &[DisplayName::MAX]),
            ("username", &[1, Username::MAX]),
            ("password", &[Password::MIN, Password::MAX]),
        ] {
            let hint = hint(page, field);
            for number in rules {
                assert!(hint.contains(&number.to_string()), "{field}: {hint}");
            }
        }
        assert!(hint(page, "username").contains("lowercase letters, digits, dots, underscores or hyphens"));
    }
}

#[tokio::test]
async fn notes_below_radio_buttons_describe_their_group() {
    let (running, ada) = Running::with_ada().await;
    let key = running
        .installation
        .issue(&ada.as_holder(), "Laptop")
        .await
        .key
        .id;
    let browser = running.signed_in("ada").await;
    let rotate = format!("{LIST}/{key}/rotate");
    for path in [NEW, "/organizations/acme/settings/general", &rotate] {
        let page = browser.get(path).await;
        let (_, group) = page.body.split_once("<fieldset").unwrap();
        let (group, _) = group.split_once("</fieldset>").unwrap();
        let (_, ids) = group.split_once(" aria-describedby=\"").expect(path);
        let (ids, _) = ids.split_once('"').unwrap();
        assert_eq!(
            ids.split(' ').count(),
            group.matches("class=\"hint\"").count(),
            "{path}"
        );
        for id in ids.split(' ') {
            assert!(
                group.contains(&format!("class=\"hint\" id=\"{id}\"")),
                "{path}: {id}"
            );
        }
    }
}

#[tokio::test]
async fn key_form_fields_state_their_rules() {
    let (running, _) = Running::with_ada().await;
    let page = running.signed_in("ada").await.get(NEW).await;
    for (field, _) in page.text_fields() {
        assert!(
            hint(&page, field).contains(|c: char| c.is_ascii_digit()),
            "{field}"
        );
    }
    assert!(hint(&page, "name").contains(&KeyName::MAX.to_string()));
    assert!(!page.shows("autocomplete"), "\"Back\" keeps what was typed");
    assert!(hint(&page, "description").contains(&KeyDescription::MAX.to_string()));
}

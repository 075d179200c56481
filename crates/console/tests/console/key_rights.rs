//! Whether keys may manage keys: the choice at creation, the organization's choice, and where it is shown.

use keyward_domain::audit::{Action, Actor, RequestSource, Subject};
use keyward_domain::membership::{Member, Role};
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::KeyFilter;

use crate::browser::{Answer, Browser};
use crate::running::{LIST, NEW, Running};

const GENERAL: &str = "/organizations/acme/settings/general";
const CHOICE: &str = "/organizations/acme/settings/general/new-keys";
const AUDIT_LOG: &str = "/organizations/acme/settings/audit-log";

async fn create(browser: &Browser, name: &str, manage_keys: Option<&str>) -> Answer {
    let idempotency_key = browser.get(NEW).await.field("idempotency_key").to_owned();
    let mut fields = vec![
        ("idempotency_key", idempotency_key.as_str()),
        ("name", name),
        ("description", ""),
    ];
    fields.extend(manage_keys.map(|chosen| ("manage_keys", chosen)));
    browser.post(NEW, &fields).await
}

/// Whether the newest key of the member may manage keys.
async fn newest_may_manage_keys(running: &Running, member: &Member) -> bool {
    let page = PageRequest::first(PageSize::ONE);
    let keys = running.installation.keys();
    let now = running.installation.now();
    let found = keys
        .list(&member.as_holder(), KeyFilter::default(), page, now)
        .await;
    found.unwrap().items[0].can_manage_keys
}

async fn choose(running: &Running, owner: &Member, manage_keys: bool) {
    let authority = owner.as_authority(owner.membership.joined_at).unwrap();
    let source = RequestSource::default();
    let organizations = running.installation.organizations();
    let chosen = organizations
        .set_default_for_new_keys(&authority, manage_keys, source)
        .await;
    chosen.unwrap();
}

/// Which of the two is chosen in the form of this page.
fn checked(page: &Answer) -> &'static str {
    let is_checked = |value: &&str| page.shows(&format!("name=\"manage_keys\" value=\"{value}\" checked"));
    let checked: Vec<&str> = ["yes", "no"].into_iter().filter(is_checked).collect();
    assert_eq!(checked.len(), 1, "one of two is chosen: {}", page.body);
    checked[0]
}

#[tokio::test]
async fn key_form_chooses_the_right_to_manage_keys() {
    let (running, ada) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    for (chosen, expected) in [(Some("yes"), true), (Some("no"), false), (None, true)] {
        assert_eq!(create(&browser, "Deploy", chosen).await.status, 200);
        assert_eq!(
            newest_may_manage_keys(&running, &ada).await,
            expected,
            "{chosen:?}"
        );
    }
    let refused = create(&browser, "Deploy", Some("perhaps")).await;
    assert_eq!(refused.status, 400);
}

#[tokio::test]
async fn key_form_defaults_to_organization_choice_and_preserves_the_input() {
    let (running, ada) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    assert_eq!(checked(&browser.get(NEW).await), "yes");
    let refilled = create(&browser, "", Some("no")).await;
    assert_eq!((refilled.status, checked(&refilled)), (422, "no"));

    choose(&running, &ada, false).await;
    assert_eq!(checked(&browser.get(NEW).await), "no");
    create(&browser, "Deploy", None).await;
    assert!(!newest_may_manage_keys(&running, &ada).await);
    create(&browser, "Deploy", Some("yes")).await;
    assert!(newest_may_manage_keys(&running, &ada).await);
    let refilled = create(&browser, "", Some("yes")).await;
    assert_eq!((refilled.status, checked(&refilled)), (422, "yes"));
}

#[tokio::test]
async fn owner_sets_the_default_key_right_on_the_general_page() {
    let (running, ada) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let page = browser.get(GENERAL).await;
    assert_eq!(checked(&page), "yes");
    assert!(page.shows(">Save default</button>") && page.shows(">Save maximum lifetime</button>"));
    for (chosen, action, says) in [
        (
            "no",
            Action::DisableKeyManagement,
            "New keys cannot manage other keys by default",
        ),
        (
            "yes",
            Action::EnableKeyManagement,
            "New keys can manage other keys by default",
        ),
    ] {
        let answer = browser.post(CHOICE, &[("manage_keys", chosen)]).await;
        assert_eq!(answer.status, 303);
        let page = browser.follow(&answer).await;
        assert!(page.text().contains(says), "{}", page.text());
        assert_eq!(checked(&page), chosen);
        let event = running.installation.store.events().pop().unwrap();
        assert_eq!(event.action, action);
        assert_eq!(event.actor, Actor::User(ada.user.id));
        assert_eq!(event.subject, Subject::Organization(ada.organization.id));
    }
    for fields in [&[][..], &[("manage_keys", "perhaps")]] {
        assert_eq!(browser.post(CHOICE, fields).await.status, 400);
    }
}

#[tokio::test]
async fn member_sees_the_default_key_right_but_cannot_change_it() {
    let (running, ada) = Running::with_ada().await;
    running
        .installation
        .member(&ada.organization, "grace", Role::Member);
    let member = running.signed_in("grace").await;
    for (chosen, says) in [
        (true, "New API keysCan manage other keys by default"),
        (false, "New API keysCannot manage other keys by default"),
    ] {
        choose(&running, &ada, chosen).await;
        for page in [GENERAL.to_owned(), format!("{GENERAL}?new-keys=chosen")] {
            let page = member.get(&page).await;
            assert!(page.text().contains(says), "{}", page.text());
            assert!(!page.shows("manage_keys") && !page.shows("role=\"status\""));
        }
    }
    let events = running.installation.store.events();
    assert_eq!(member.post(CHOICE, &[("manage_keys", "yes")]).await.status, 404);
    assert_eq!(running.installation.store.events(), events);
}

#[tokio::test]
async fn every_key_page_shows_the_right_to_manage_keys() {
    let (running, ada) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let installation = &running.installation;
    let manager = installation.issue(&ada.as_holder(), "Manager").await;
    let through_manager = installation.caller(&manager).await.as_holder();
    let restricted = installation.issue_restricted(&through_manager, "Deploy").await;
    for (issued, other, says) in [
        (&manager, &restricted, "Can manage keys"),
        (&restricted, &manager, "Cannot manage keys"),
    ] {
        let (name, id) = (issued.key.name.as_str(), issued.key.id);
        for list in [LIST.to_owned(), format!("{LIST}/all")] {
            let page = browser.get(&list).await;
            let (_, row) = page.body.split_once(&format!(" title=\"{name}\"><bdi>")).unwrap();
            assert!(row.split_once("</tr>").unwrap().0.contains(says), "{list}");
        }
        let page = browser.get(&format!("{LIST}/all/{id}")).await;
        assert!(page.text().contains(&format!("Rights{says}")), "{}", page.text());
        let key_tree = page
            .body
            .split_once("<ul role=\"list\" class=\"tree\">")
            .unwrap()
            .1;
        for key in [issued, other] {
            let words = if key.key.can_manage_keys {
                "· can manage keys"
            } else {
                "· cannot manage keys"
            };
            let (_, node) = key_tree
                .split_once(&format!("<bdi>{}</bdi>", key.key.name))
                .unwrap();
            assert!(node.split_once("</div>").unwrap().0.contains(words));
        }
        let form = browser.get(&format!("{LIST}/{id}/edit")).await;
        let says = says.to_lowercase();
        assert!(
            form.text()
                .contains(&format!("This key {says}; that cannot be changed."))
        );
    }
}

#[tokio::test]
async fn audit_log_shows_key_rights_and_default_changes() {
    let (running, ada) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    running.installation.issue(&ada.as_holder(), "Manager").await;
    let deploy = running
        .installation
        .issue_restricted(&ada.as_holder(), "Deploy")
        .await;
    let restricted = format!(
        "created the API key Deploy {} which cannot manage keys",
        deploy.key.hint
    );
    choose(&running, &ada, false).await;
    choose(&running, &ada, true).await;
    let page = browser.get(AUDIT_LOG).await;
    for says in [
        "created the API key Manager",
        &*restricted,
        "stopped letting new API keys manage other keys by default",
        "let new API keys manage other keys by default",
    ] {
        assert!(page.text().contains(says), "{says}: {}", page.text());
    }
    let found = browser
        .get(&format!("{AUDIT_LOG}?action=api_key.create_restricted"))
        .await;
    let text = found.text();
    assert!(text.contains("created the API key Deploy") && !text.contains("created the API key Manager"));
}

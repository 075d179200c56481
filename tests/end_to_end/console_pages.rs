//! Tests of the console that need a browser: its script and its layout.

use serde_json::{Value, json};

use crate::browser::Browser;
use keyward_tests::console::PlainConsole;
use keyward_tests::keyward::{Keyward, OWNER_PASSWORD};

const SETTINGS: &str = "/organizations/engines/settings";

/// A browser in which the owner of an organization with three keys is signed in, at the list of their keys.
pub(crate) struct Scene {
    pub(crate) keyward: Keyward,
    pub(crate) browser: Browser,
}

impl Scene {
    pub(crate) async fn new() -> Self {
        let keyward = Keyward::start_set_up().await;
        let api = PlainConsole::sign_in_owner(&keyward)
            .await
            .api_with_first_key()
            .await;
        for name in ["second", "third"] {
            api.create(name, "").await;
        }
        let browser = Browser::open().await;
        browser.go_to(&format!("{}/sign-in", keyward.base_url())).await;
        browser.fill("username", "ada").await;
        browser.fill("password", OWNER_PASSWORD).await;
        browser.press("Sign in").await;
        browser.element("tbody").await;
        Self { keyward, browser }
    }

    pub(crate) async fn open(&self, page: &str) {
        let url = format!("{}{SETTINGS}/{page}", self.keyward.base_url());
        self.browser.go_to(&url).await;
        self.browser.element("main").await;
    }

    pub(crate) async fn width(&self, width: u32) {
        let metrics = json!({ "width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false });
        self.send("Emulation.setDeviceMetricsOverride", metrics).await;
    }

    pub(crate) async fn send(&self, command: &str, arguments: Value) {
        let sent = self.browser.driver.cdp().send_raw(command, arguments).await;
        sent.expect("the browser obeys");
    }

    pub(crate) async fn value(&self, script: &str) -> Value {
        let value = self.browser.driver.execute(script, Vec::new()).await;
        value.expect("a value").json().clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn copy_feedback_appears_below_the_copied_field_only() {
    let scene = Scene::new().await;
    scene.open("api-keys/new").await;
    scene.browser.fill("name", "copied").await;
    scene.browser.press("Create API key").await;
    scene.browser.element("#token").await;
    let buttons = scene
        .value("return document.querySelectorAll('[data-copy]').length")
        .await;
    assert_eq!(buttons, 2, "of the token and of the example");
    for button in [0, 1, 0] {
        // The browser may refuse to copy. In either case, the message is beside the button.
        let shown = scene
            .value(&format!(
                "const button = document.querySelectorAll('[data-copy]')[{button}];
                 const said = () => [...document.querySelectorAll('[data-copied]')].filter((one) => one.textContent);
                 button.click();
                 return new Promise((resolve) => {{
                     const look = () => {{
                         const texts = said();
                         if (texts.length === 0) return requestAnimationFrame(look);
                         const copyable = button.closest('.copyable');
                         resolve(texts.map((text) => copyable.contains(text) || copyable.nextElementSibling === text));
                     }};
                     look();
                 }});"
            ))
            .await;
        assert_eq!(shown, json!([true]), "button {button}");
    }
    scene.browser.close().await;
}

/// The boxes and links of the table that are hidden below something else when they have the focus.
const HIDDEN_WITH_FOCUS: &str = "scrollTo(0, 0);
    return [...document.querySelectorAll('tbody :is(input, a)')].filter((element) => {
        element.focus();
        const { left, top, width, height } = element.getBoundingClientRect();
        const seen = document.elementFromPoint(left + width / 2, top + height / 2);
        return !element.contains(seen);
    }).map((element) => element.outerHTML)";

#[tokio::test(flavor = "multi_thread")]
async fn selected_keys_are_counted_beside_a_button_in_sight() {
    let scene = Scene::new().await;
    let api = PlainConsole::sign_in(scene.keyward.base_url(), "ada", OWNER_PASSWORD)
        .await
        .api_with_first_key()
        .await;
    for number in 0..16 {
        api.create(&format!("Robot {number}"), "").await;
    }
    for width in [1280, 360] {
        scene.width(width).await;
        scene.open("api-keys/all").await;
        let state = "document.querySelector('tbody [type=checkbox]').scrollIntoView({ block: 'center' });
            const button = document.querySelector('[data-needs-choice]');
            const { top, bottom } = button.getBoundingClientRect();
            return [document.querySelector('[data-count]').textContent,
                    button.disabled,
                    top >= 0 && bottom <= innerHeight]";
        assert_eq!(scene.value(state).await, json!(["", true, false]));
        for (pressed, expected) in [
            ("tbody [type=checkbox]", json!(["1 selected", false, true])),
            ("[data-all]", json!(["20 selected", false, true])),
            ("[data-all]", json!(["", true, false])),
        ] {
            scene
                .value(&format!("document.querySelector('{pressed}').click()"))
                .await;
            assert_eq!(scene.value(state).await, expected, "{pressed} at {width} px");
            let hidden = scene.value(HIDDEN_WITH_FOCUS).await;
            assert_eq!(hidden, json!([]), "{pressed} at {width} px");
        }
    }
    scene.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn way_back_from_a_key_keeps_the_filter() {
    let scene = Scene::new().await;
    let filtered = format!("{}{SETTINGS}/api-keys/all?unused=0", scene.keyward.base_url());
    let list = format!(
        "{}{SETTINGS}/api-keys/all?status=all&search=second",
        scene.keyward.base_url()
    );
    for url in [filtered, list] {
        scene.browser.go_to(&url).await;
        let key = scene.browser.element("tbody a.row-name").await;
        key.click().await.expect("the key's page");
        scene.browser.element(".facts").await;
        let back = scene.value("return document.querySelector('.back a').href").await;
        assert_eq!(back, url);
    }
    scene.browser.close().await;
}

/// The other address begins with the console's origin.
#[tokio::test(flavor = "multi_thread")]
async fn way_back_never_leads_to_another_origin() {
    let scene = Scene::new().await;
    let list = format!("{}{SETTINGS}/api-keys", scene.keyward.base_url());
    let script = format!(
        "Object.defineProperty(document, 'referrer', {{ value: location.origin + '@keyward.example{SETTINGS}/api-keys' }})"
    );
    let script = json!({ "source": script });
    scene.send("Page.addScriptToEvaluateOnNewDocument", script).await;
    scene.open("api-keys/new").await;
    let links = "return [document.referrer, ...[...document.querySelectorAll('.back a, form .actions a')].map((link) => link.href)]";
    let links = scene.value(links).await;
    let referrer = format!("{}@keyward.example{SETTINGS}/api-keys", scene.keyward.base_url());
    assert_eq!(links, json!([referrer, list, list]));
    scene.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_leaves_forms_that_link_to_each_other() {
    let scene = Scene::new().await;
    let list = format!("{}{SETTINGS}/api-keys", scene.keyward.base_url());
    scene.browser.go_to(&list).await;
    let edit = "return document.querySelector('a[href$=\"/edit\"]').href";
    let edit = scene.value(edit).await.as_str().expect("an address").to_owned();
    scene.browser.go_to(&edit).await;
    let rotate = scene.browser.element("main a[href$='/rotate']").await;
    rotate.click().await.expect("the form to rotate");
    scene.browser.element("[name=old_key_ends]").await;
    scene.browser.press("Cancel").await;
    scene.browser.element("tbody").await;
    assert_eq!(scene.browser.address().await, list);
    scene.browser.close().await;
}

/// As if another user had signed in since the page was loaded.
#[tokio::test(flavor = "multi_thread")]
async fn no_dialog_of_another_user_opens() {
    let scene = Scene::new().await;
    scene.open("api-keys").await;
    let dialog = scene.browser.element("a[data-dialog]").await;
    dialog.click().await.expect("the dialog");
    scene.browser.element("dialog[open] [name=confirm]").await;
    scene.open("api-keys").await;
    let other = "for (const user of document.querySelectorAll('[name=user]')) user.value = 'somebody else'";
    scene.value(other).await;
    let link = scene.browser.element("a[data-dialog]").await;
    link.click().await.expect("the page behind the link");
    scene.browser.element("main [name=confirm]").await;
    assert!(scene.browser.address().await.ends_with("/revoke"));
    scene.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_expiration_is_shown_for_any_choice() {
    let scene = Scene::new().await;
    scene.open("api-keys").await;
    let rotate = scene
        .value("return document.querySelector('a[href$=\"/rotate\"]').href")
        .await;
    let rotate = rotate.as_str().expect("an address");
    scene.browser.go_to(rotate).await;
    scene.browser.press("Rotate key").await;
    scene.browser.element("#token").await;
    scene.browser.go_to(&rotate.replace("/rotate", "/edit")).await;
    // The page does not offer it, but may have been opened before the key was rotated.
    scene
        .value("const select = document.querySelector('[name=expiration]'); select.add(new Option('', '90')); select.value = '90'")
        .await;
    scene.browser.press("Save").await;
    let error = scene.browser.element("#expiration-error").await;
    assert_ne!(error.text().await.expect("text"), "");
    scene.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn relative_times_round_up_ahead_and_down_in_the_past() {
    let scene = Scene::new().await;
    scene.open("api-keys").await;
    for (seconds, expected) in [
        (-86_300, "23 hours ago"),
        (-3_500, "58 minutes ago"),
        (7 * 86_400 - 30, "in 7 days"),
        (36 * 3_600, "in 1 day"),
        (3_500, "in 58 minutes"),
        (30, "in less than a minute"),
    ] {
        let shown = scene
            .value(&format!(
                "const time = document.createElement('time'); time.dataset.time = 'ago';
                 time.dateTime = new Date(Date.now() + {seconds} * 1000).toISOString();
                 document.body.append(time); dispatchEvent(new Event('afterprint')); return time.textContent"
            ))
            .await;
        assert_eq!(shown, expected);
    }
    scene.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn navigation_keeps_its_lines_from_page_to_page() {
    let scene = Scene::new().await;
    scene.width(360).await;
    let mut first = None;
    for page in ["general", "members", "projects", "api-keys", "audit-log"] {
        scene.open(page).await;
        let lines = scene
            .value(
                "return [...document.querySelectorAll('.sidebar a')]
                     .map((link) => Math.round(link.getBoundingClientRect().top + scrollY))",
            )
            .await;
        assert_eq!(*first.get_or_insert_with(|| lines.clone()), lines, "{page}");
    }
    scene.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn narrow_page_with_large_text_shows_the_organization() {
    let scene = Scene::new().await;
    scene.width(360).await;
    scene.open("general").await;
    let [page, organization] = [
        "document.documentElement.scrollWidth",
        "document.querySelector('.topbar .organization').getBoundingClientRect().width",
    ];
    let widths = scene
        .value(&format!(
            "document.documentElement.style.fontSize = '200%'; return [{page}, {organization}]"
        ))
        .await;
    assert!(widths[0].as_f64() <= Some(360.0), "{widths}");
    assert!(widths[1].as_f64() >= Some(80.0), "{widths}");
    scene.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn chosen_value_of_audit_filter_is_as_high_as_fields() {
    let scene = Scene::new().await;
    scene.width(1280).await;
    scene.open("audit-log?who=ada").await;
    scene.browser.element(".chip").await;
    let heights = scene
        .value(
            "return ['.chip', '.filters select', '.filters [name=what]']
                 .map((field) => document.querySelector(field).getBoundingClientRect().height)",
        )
        .await;
    assert_eq!(heights[0], heights[1], "{heights}");
    assert_eq!(heights[0], heights[2], "{heights}");
    scene.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn error_codes_of_the_reference_show_their_underscores() {
    let scene = Scene::new().await;
    scene
        .browser
        .go_to(&format!("{}/docs", scene.keyward.base_url()))
        .await;
    scene.browser.element(".problems a").await;
    let offsets = scene
        .value(
            "return [...document.querySelectorAll('.problems a')].map((link) => {
                 const style = getComputedStyle(link);
                 return parseFloat(style.textUnderlineOffset) / parseFloat(style.fontSize);
             })",
        )
        .await;
    let offsets = offsets.as_array().expect("one a link").clone();
    assert!(!offsets.is_empty());
    assert!(
        offsets.iter().all(|offset| offset.as_f64() >= Some(0.3)),
        "{offsets:?}"
    );
    scene.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hidden_half_typed_date_does_not_stop_the_form() {
    let scene = Scene::new().await;
    let choose = async |choice: &str| {
        let script = format!("document.querySelector('[name=expiration]').value = '{choice}'");
        scene.value(&script).await;
    };
    scene.open("api-keys/new").await;
    scene.browser.fill("name", "without an end").await;
    choose("at").await;
    scene.browser.fill("expires_at", "1227").await;
    choose("never").await;
    scene.browser.press("Create API key").await;
    scene.browser.element("#token").await;
    scene.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn users_page_from_the_page_cache_is_loaded_anew() {
    let scene = Scene::new().await;
    scene.open("api-keys").await;
    scene
        .value("document.querySelector('main').className = 'old'")
        .await;
    let docs = format!("{}/docs", scene.keyward.base_url());
    scene.browser.go_to(&docs).await;
    scene.browser.driver.back().await.expect("back");
    scene.browser.element("main:not(.old) .own-keys").await;
    scene.browser.close().await;
}

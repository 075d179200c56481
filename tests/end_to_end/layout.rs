//! The layout of wide, narrow and printed pages.

use serde_json::{Value, json};

use crate::console_pages::Scene;
use keyward_tests::console::PlainConsole;
use keyward_tests::keyward::OWNER_PASSWORD;

/// Defines `tops(…)`: the upper edges of the elements, in pixels.
const TOPS: &str = "const tops = (...selectors) => selectors.map((selector) =>
    Math.round(document.querySelector(selector).getBoundingClientRect().top + scrollY));";

impl Scene {
    async fn go_to(&self, path: &str) {
        self.browser
            .go_to(&format!("{}{path}", self.keyward.base_url()))
            .await;
        self.browser.element("main").await;
    }

    async fn numbers(&self, script: &str) -> Vec<f64> {
        let numbers = self.value(script).await;
        let numbers = numbers.as_array().expect("numbers").iter().map(Value::as_f64);
        numbers.map(|number| number.expect("a number")).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn key_filter_fields_share_one_row_on_wide_screens() {
    let scene = Scene::new().await;
    for width in [1280, 1920, 2560, 3840] {
        scene.width(width).await;
        scene.open("api-keys/all").await;
        let script = format!("{TOPS} return tops('#search', '#unused', '#expires_within')");
        let tops = scene.numbers(&script).await;
        assert!(tops.iter().all(|top| *top == tops[0]), "{width} px: {tops:?}");
    }
    scene.browser.close().await;
}

/// With keys that have long names and descriptions, of which one expands.
async fn scene_with_long_texts() -> Scene {
    let scene = Scene::new().await;
    let api = PlainConsole::sign_in(scene.keyward.base_url(), "ada", OWNER_PASSWORD)
        .await
        .api_with_first_key()
        .await;
    let text = "For the board. ".repeat(30);
    for description in [&text[..115], "For the board.\nEvery quarter.\nBy mail.", &text] {
        api.create(&"Quarterly report ".repeat(5), description).await;
    }
    scene
}

#[tokio::test(flavor = "multi_thread")]
async fn key_rows_have_two_lines_for_any_key_name() {
    let scene = scene_with_long_texts().await;
    for width in [1100, 1280] {
        scene.width(width).await;
        for page in ["api-keys/all", "api-keys"] {
            scene.open(page).await;
            // A description that expands is 44 px high, for fingers.
            let script = "return [...document.querySelectorAll('tbody tr')].flatMap((row) =>
                [row.clientHeight, row.querySelector('summary') ? 90 : 70])";
            let rows = scene.numbers(script).await;
            assert!(
                rows.chunks(2).all(|row| row[0] <= row[1]),
                "{page} at {width} px: {rows:?}"
            );
            let script = "return [...document.querySelectorAll('tbody :is(.row-name, .clamped)')].map((text) => text.clientHeight)";
            let texts = scene.numbers(script).await;
            assert!(
                texts.iter().all(|height| *height <= 30.0),
                "{page} at {width} px: {texts:?}"
            );
            let cut = "const isCut = (text) => text.scrollWidth > text.clientWidth || text.scrollHeight > text.clientHeight;
                return ['.row-name > bdi', '.clamped'].map((texts) => [...document.querySelectorAll(texts)].filter(isCut).length)";
            let cut = scene.numbers(cut).await;
            assert_eq!(cut, [3.0, 3.0], "{page} at {width} px: long texts are cut");
        }
    }
    scene.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn key_names_have_room_in_tables_and_cards() {
    let scene = scene_with_long_texts().await;
    for width in [900, 1100, 1152, 1280] {
        scene.width(width).await;
        for page in ["api-keys/all", "api-keys"] {
            scene.open(page).await;
            let script = "return [...document.querySelectorAll('tbody tr')].flatMap((row) =>
                [row.querySelector('th').clientWidth, row.querySelector('.row-name').clientHeight])";
            let sizes = scene.numbers(script).await;
            for row in sizes.chunks(2) {
                assert!(
                    row[0] >= 230.0 && row[1] <= 100.0,
                    "{page} at {width} px: {sizes:?}"
                );
            }
        }
    }
    scene.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn actions_of_an_own_key_share_one_line() {
    let scene = Scene::new().await;
    for width in [1280, 1920] {
        scene.width(width).await;
        scene.open("api-keys").await;
        let script = format!(
            "{TOPS} return tops('.row-actions a[href$=\"/edit\"]', '.row-actions a[href$=\"/rotate\"]', '.row-actions a[href$=\"/revoke\"]')"
        );
        let tops = scene.numbers(&script).await;
        assert!(tops.iter().all(|top| *top == tops[0]), "{width} px: {tops:?}");
    }
    scene.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn narrow_key_card_has_its_checkbox_beside_the_name() {
    let scene = Scene::new().await;
    scene.width(360).await;
    scene.open("api-keys/all").await;
    let script = "const edges = (selector) => {
            const { top, bottom } = document.querySelector(selector).getBoundingClientRect();
            return [top, bottom];
        };
        return [...edges('tbody .pick input'), ...edges('tbody .row-name'), ...edges('tbody tr')]";
    let edges = scene.numbers(script).await;
    let [box_top, box_bottom, name_top, name_bottom, card_top, card_bottom] = edges[..] else {
        panic!("{edges:?}");
    };
    assert!(box_top < name_bottom && name_top < box_bottom, "{edges:?}");
    assert!(card_bottom - card_top < 300.0, "{edges:?}");
    scene.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn narrow_general_page_fits_with_a_maximum_lifetime() {
    let scene = Scene::new().await;
    scene.width(360).await;
    scene.open("general").await;
    scene.browser.fill("days", "30").await;
    scene
        .value("document.querySelector('#days').form.requestSubmit()")
        .await;
    scene.browser.element("[data-notice]").await;
    let script = "return [document.documentElement.scrollWidth]";
    assert!(scene.numbers(script).await[0] <= 360.0);
    scene.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn button_of_a_large_removal_is_on_the_second_screen() {
    let scene = Scene::new().await;
    let create = "admin create-user --organization engines --username grace --password-stdin";
    scene.keyward.command(create, OWNER_PASSWORD).await;
    let grace = PlainConsole::sign_in(scene.keyward.base_url(), "grace", OWNER_PASSWORD).await;
    let api = grace.api_with_first_key().await;
    for number in 0..50 {
        api.create(&format!("Deploy pipeline {number}"), "").await;
    }
    scene.width(1280).await;
    scene.open("members/@grace").await;
    scene.browser.press("Remove member").await;
    scene.browser.element("[name=confirm]").await;
    let tops = scene
        .numbers(&format!("{TOPS} return tops('form .button.danger')"))
        .await;
    assert!(tops[0] < 1600.0, "{tops:?}");
    scene.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn full_stop_follows_a_long_organization_name() {
    let scene = Scene::new().await;
    let name = ["Observatory"; 8].join("-");
    let create = format!("admin create-organization --name {name} --owner ada");
    scene.keyward.command(&create, "").await;
    scene.open("api-keys").await;
    let page = scene
        .value("return document.querySelector('.switcher a').pathname")
        .await;
    for width in [1280, 360] {
        scene.width(width).await;
        scene.go_to(page.as_str().expect("a path")).await;
        let script = "const name = document.querySelector('.lead strong bdi').firstChild;
            const stop = document.querySelector('.lead strong').nextSibling;
            return [[name, name.length - 1], [stop, 0]].map(([text, at]) => {
                const range = document.createRange();
                range.setStart(text, at);
                range.setEnd(text, at + 1);
                return range.getBoundingClientRect().bottom;
            })";
        let bottoms = scene.numbers(script).await;
        assert_eq!(bottoms[0], bottoms[1], "{width} px");
    }
    scene.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn narrow_reference_shows_its_title_before_the_contents() {
    let scene = Scene::new().await;
    scene.width(360).await;
    scene.go_to("/docs").await;
    let tops = scene
        .numbers(&format!("{TOPS} return tops('h1', '.brand', '.document')"))
        .await;
    assert!(tops[0] < 300.0, "the title: {tops:?}");
    assert_eq!(tops[1], tops[2], "one row in the top bar: {tops:?}");
    scene.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reference_explains_errors_in_one_paragraph() {
    let scene = Scene::new().await;
    scene.width(1280).await;
    scene.go_to("/docs").await;
    let script = "const text = document.querySelector('.limited'), style = getComputedStyle(text);
        return [text.getBoundingClientRect().height / parseFloat(style.lineHeight)]";
    let lines = scene.numbers(script).await;
    assert!(lines[0] <= 2.0, "{lines:?} lines");
    scene.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn times_and_hints_of_the_audit_log_have_one_line() {
    let scene = Scene::new().await;
    scene.width(1280).await;
    scene.open("audit-log").await;
    let script = "const lines = (element) => {
            const texts = document.createRange();
            texts.selectNodeContents(element);
            return new Set([...texts.getClientRects()].map((box) => Math.round(box.top))).size;
        };
        const all = (selector) => [...document.querySelectorAll(selector)].map(lines);
        return [all('tbody time'), all('tbody th code')]";
    let lines = scene.value(script).await;
    let [times, hints] = &lines.as_array().expect("lists")[..] else {
        panic!("{lines}");
    };
    // Three keys were created.
    for (texts, least) in [(times, 6), (hints, 3)] {
        let texts = texts.as_array().expect("numbers");
        assert!(
            texts.len() >= least && texts.iter().all(|lines| *lines == 1),
            "{lines}"
        );
    }
    scene.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn printed_key_names_are_whole() {
    let scene = Scene::new().await;
    let api = PlainConsole::sign_in(scene.keyward.base_url(), "ada", OWNER_PASSWORD)
        .await
        .api_with_first_key()
        .await;
    api.create(&"Quarterly report ".repeat(5), "").await;
    scene.width(794).await;
    for page in ["api-keys", "api-keys/all"] {
        scene.open(page).await;
        scene
            .send("Emulation.setEmulatedMedia", json!({ "media": "print" }))
            .await;
        let script = "const name = document.querySelector('.row-name');
            return [name.scrollWidth - name.clientWidth, name.clientWidth]";
        let widths = scene.numbers(script).await;
        assert!(widths[0] == 0.0 && widths[1] > 120.0, "{page}: {widths:?}");
    }
    scene.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn printed_audit_log_has_wide_sentences_and_no_filter() {
    let scene = Scene::new().await;
    scene.width(794).await;
    scene.open("audit-log").await;
    scene
        .send("Emulation.setEmulatedMedia", json!({ "media": "print" }))
        .await;
    let script = "const width = (selector) => document.querySelector(selector).getBoundingClientRect().width;
        return [width('.filter'), width('tbody th'), width('table'), width('main')]";
    let widths = scene.numbers(script).await;
    assert_eq!(widths[0], 0.0, "the filter is not printed");
    assert!(
        widths[1] > 0.4 * widths[2] && widths[2] > 0.9 * widths[3],
        "{widths:?}"
    );
    scene.browser.close().await;
}

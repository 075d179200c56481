use reqwest::Method;

use crate::running::Running;

/// The addresses that a page loads.
fn addresses(page: &str) -> Vec<String> {
    page.match_indices("\"/assets/")
        .map(|(at, _)| page[at + 1..].split_once('"').unwrap().0.to_owned())
        .collect()
}

#[tokio::test]
async fn assets_have_content_hashed_urls_and_are_cached_forever() {
    let (running, _) = Running::with_ada().await;
    let visitor = running.visitor();
    let page = visitor.get("/sign-in").await;
    let addresses = addresses(&page.body);
    assert_eq!(addresses.len(), 3);
    for (address, content_type) in addresses.iter().zip([
        "image/svg+xml",
        "text/css; charset=utf-8",
        "text/javascript; charset=utf-8",
    ]) {
        let answer = visitor.get(address).await;
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, content_type)
        );
        assert_eq!(
            answer.header("cache-control"),
            "public, max-age=31536000, immutable"
        );
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        let etag = answer.header("etag").to_owned();
        assert!(etag.starts_with('"') && etag.ends_with('"') && address.contains(etag.trim_matches('"')));

        let head = visitor.send(visitor.request(Method::HEAD, address)).await;
        assert_eq!((head.status, head.body.as_str()), (200, ""));
        assert_eq!(head.header("etag"), etag);
        let length = answer.body.len().to_string();
        assert!(
            ["", &length].contains(&head.header("content-length")),
            "{:?}",
            head.headers
        );

        let again = visitor
            .request(Method::GET, address)
            .header("if-none-match", format!("W/\"other\", {etag}"));
        let again = visitor.send(again).await;
        assert_eq!((again.status, again.body.as_str()), (304, ""));
    }
}

#[tokio::test]
async fn asset_url_of_another_version_is_not_found() {
    let (running, _) = Running::with_ada().await;
    for path in [
        "/assets/console-0000000000000000.css",
        "/assets/console.css",
        "/assets/..%2fCargo.toml",
        "/assets/",
    ] {
        assert_eq!(running.visitor().get(path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn assets_support_print_and_forced_colors_within_size_limits() {
    const MOST_STYLE: usize = 20 * 1024;
    const MOST_SCRIPT: usize = 8 * 1024;
    let (running, _) = Running::with_ada().await;
    let visitor = running.visitor();
    let page = visitor.get("/sign-in").await;
    let [_, style, script] = &addresses(&page.body)[..] else {
        panic!("icon, style and script");
    };
    let style = visitor.get(style).await;
    let (_, paper) = style.body.split_once("@media print {").unwrap();
    for (selector, why) in [
        (".sidebar", "paper cannot be navigated"),
        (".button", "paper cannot be pressed"),
    ] {
        assert!(paper.contains(selector), "{why}");
    }
    assert!(paper.contains("color-scheme: light") && style.shows("@media (forced-colors: active)"));
    let (_, forced) = style.body.split_once("(forced-colors: active) {").unwrap();
    let (forced, _) = forced.split_once("\n}").unwrap();
    assert!(
        forced.contains("[aria-current]") && !forced.contains("outline"),
        "an outline marks only what has the focus: {forced}"
    );
    assert!(
        style.body.len() <= MOST_STYLE,
        "{} bytes of style",
        style.body.len()
    );
    let script = visitor.get(script).await;
    assert!(script.shows("\"beforeprint\""), "paper shows exact times");
    assert!(
        script.body.len() <= MOST_SCRIPT,
        "{} bytes of script",
        script.body.len()
    );
}

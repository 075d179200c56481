//! `/docs`: the document for people.

use reqwest::Method;

use crate::answer::Answer;
use crate::documented::{Audience, DOCUMENT, operations};
use crate::scene::Scene;

async fn get(scene: &Scene, path: &str) -> Answer {
    scene.api.send(scene.api.anonymous(Method::GET, path)).await
}

/// The addresses of the style sheet and the script.
async fn assets(scene: &Scene) -> Vec<String> {
    let page = get(scene, "/docs").await.body;
    let addresses: Vec<String> = page
        .split('"')
        .filter(|text| text.starts_with("/docs/"))
        .map(str::to_owned)
        .collect();
    assert_eq!(addresses.len(), 2, "{addresses:?}");
    addresses
}

#[tokio::test]
async fn complete_reference_is_readable_without_authentication() {
    let scene = Scene::new().await;
    let answer = get(&scene, "/docs").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers["content-type"], "text/html; charset=utf-8");
    for operation in operations() {
        let (id, method) = (operation.id(), &operation.method);
        let form = format!(
            "<form data-method=\"{method}\" data-path=\"{}\"",
            operation.template
        );
        let article = format!("<article class=\"card operation\" id=\"{id}\"");
        assert!(answer.body.contains(&article), "{article}");
        // The page asks for an API key and for nothing else.
        let can_be_tried = operation.audience() == Audience::KeyHolders;
        assert_eq!(answer.body.contains(&form), can_be_tried, "{form}");
        let parameters = operation.definition["parameters"]
            .as_array()
            .into_iter()
            .flatten();
        for name in parameters.map(|parameter| parameter["name"].as_str().unwrap()) {
            assert!(
                answer.body.contains(&format!("id=\"{id}-{name}\"")),
                "{id} {name}"
            );
        }
    }
    for (name, schema) in DOCUMENT["components"]["schemas"].as_object().unwrap() {
        assert!(answer.body.contains(&format!("id=\"schema-{name}\"")), "{name}");
        for field in schema["properties"].as_object().into_iter().flatten() {
            assert!(
                answer.body.contains(&format!("<dt><code>{}</code>", field.0)),
                "{name} {}",
                field.0
            );
        }
    }
}

#[tokio::test]
async fn reference_links_back_to_the_console() {
    let scene = Scene::new().await;
    for path in ["/docs", "/problems/not_found"] {
        let page = get(&scene, path).await.body;
        assert!(page.contains("href=\"/\">Console</a>"), "{path}");
    }
    let described = DOCUMENT["info"]["description"].as_str().unwrap();
    assert!(described.contains("console at `/`"), "{described}");
}

#[tokio::test]
async fn key_variable_has_one_name_in_every_shell_example() {
    let scene = Scene::new().await;
    for path in ["/docs", "/problems/credentials_missing"] {
        let page = get(&scene, path).await.body;
        let variables = page.split("Bearer $").skip(1);
        let names: Vec<&str> = variables
            .map(|rest| rest.split(['&', '"']).next().unwrap())
            .collect();
        assert!(
            !names.is_empty() && names.iter().all(|name| *name == "KEYWARD_API_KEY"),
            "{names:?}"
        );
    }
}

#[tokio::test]
async fn trailing_slash_is_ignored() {
    let scene = Scene::new().await;
    assert_eq!(get(&scene, "/docs/").await.body, get(&scene, "/docs").await.body);
}

#[tokio::test]
async fn every_internal_reference_link_resolves() {
    let scene = Scene::new().await;
    let page = get(&scene, "/docs").await.body;
    let targets = page
        .split("href=\"#")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap());
    for target in targets {
        assert!(page.contains(&format!(" id=\"{target}\"")), "#{target}");
    }
}

#[tokio::test]
async fn reference_has_no_inline_or_external_resources() {
    let scene = Scene::new().await;
    let answer = get(&scene, "/docs").await;
    let policy = answer.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"));
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    for forbidden in [
        "<style",
        " style=",
        " onclick=",
        "src=\"http",
        "href=\"http",
        "url(",
    ] {
        assert!(!answer.body.contains(forbidden), "{forbidden}");
    }
    assert_eq!(answer.body.matches("<script").count(), 1);
}

/// The two style sheets cannot share a file, since no adapter knows another one.
#[test]
fn reference_uses_the_consoles_colors() {
    let colours_in = |path: &str| -> Vec<String> {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let style = std::fs::read_to_string(path).unwrap();
        let lines = style.lines().map(str::trim);
        lines
            .filter(|line| line.starts_with("--") && line.contains("light-dark("))
            .map(str::to_owned)
            .collect()
    };
    let console = colours_in("../console/assets/console.css");
    let reference = colours_in("assets/reference.css");
    assert!(reference.len() > 10, "{reference:?}");
    for colour in reference {
        assert!(console.contains(&colour), "{colour}");
    }
}

#[tokio::test]
async fn reference_assets_are_cacheable_forever() {
    let scene = Scene::new().await;
    for path in assets(&scene).await {
        let answer = get(&scene, &path).await;
        assert_eq!(answer.status, 200, "{path}");
        assert!(!answer.body.is_empty(), "{path}");
        assert_eq!(
            answer.header("cache-control"),
            Some("public, max-age=31536000, immutable")
        );
        let tag = answer.header("etag").unwrap();
        let request = scene
            .api
            .anonymous(Method::GET, &path)
            .header("if-none-match", format!("\"other\", W/{tag}"));
        let again = scene.api.send(request).await;
        assert_eq!((again.status, again.body.as_str()), (304, ""), "{path}");
        let head = scene.api.send(scene.api.anonymous(Method::HEAD, &path)).await;
        assert_eq!((head.status, head.body.as_str()), (200, ""), "{path}");
        assert_eq!(head.header("etag"), Some(tag));
        assert_eq!(head.header("content-length"), answer.header("content-length"));
    }
}

#[tokio::test]
async fn reference_asset_of_another_version_is_not_found() {
    let scene = Scene::new().await;
    for path in ["/docs/reference-0000000000000000.css", "/docs/reference.js"] {
        assert_eq!(get(&scene, path).await.status, 404, "{path}");
    }
}

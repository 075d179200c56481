//! The hidden field by which a form says whose page it is on.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use keyward_console::operations;
use keyward_domain::id::ApiKeyId;

use crate::browser::Answer;
use crate::forms_of_other_users::LEAVE;
use crate::invitations::invitation;
use crate::storage_failures::Scene;

const APPLY: &str = "/organizations/acme/settings/general/key-life/apply";
const LIFE: &str = "/organizations/acme/settings/general/key-life";

/// The POST forms of a page.
fn forms(page: &Answer) -> impl Iterator<Item = &str> {
    let forms = page.body.split("<form ").skip(1);
    let forms = forms.filter(|form| form.starts_with("method=\"post\""));
    forms.map(|form| form.split_once("</form>").expect("the end of the form").0)
}

/// Where a form on the page with this path is sent.
fn route(form: &str, path: &str) -> String {
    let (tag, _) = form.split_once('>').unwrap();
    let action = tag
        .split_once("action=\"")
        .map(|(_, action)| action.split_once('"').unwrap().0);
    let path = action.unwrap_or(path).split('?').next().unwrap();
    let mut above = "";
    let segments = path.split('/').map(|segment| {
        let is_id = segment.parse::<ApiKeyId>().is_ok();
        match std::mem::replace(&mut above, segment) {
            "organizations" => ":slug",
            _ if is_id => ":id",
            _ => segment,
        }
    });
    segments.collect::<Vec<_>>().join("/")
}

/// The paths of the console that a page links to.
fn links(page: &Answer) -> impl Iterator<Item = String> {
    let links = page.body.split("href=\"/").skip(1);
    let links = links.map(|link| link.split_once('"').expect("the end of the link").0);
    let links = links.map(|link| format!("/{}", link.replace("&#38;", "&")));
    links.filter(|link| {
        !["/assets/", "/docs", "/api"]
            .iter()
            .any(|other| link.starts_with(other))
    })
}

#[tokio::test]
async fn every_form_of_a_signed_in_page_has_its_user() {
    let scene = Scene::new(|_| ()).await;
    scene.key("Laptop").await;
    scene.project("Notes").await;
    scene.archived_project().await;
    // So that the key's life can be shortened.
    scene.owner.post(LIFE, &[("days", "8")]).await;
    let link = invitation(&scene.owner, "Somebody", "member").await;
    let mut sent_to = BTreeSet::new();
    for browser in [&scene.owner, &scene.member, &scene.outsider] {
        let user = browser.get("/account").await.field("user").to_owned();
        let field = format!("<input type=\"hidden\" name=\"user\" value=\"{user}\">");
        let mut pages = vec![
            "/".to_owned(),
            "/account".to_owned(),
            "/nowhere".to_owned(),
            APPLY.to_owned(),
            LEAVE.to_owned(),
        ];
        let mut seen = BTreeSet::new();
        while let Some(path) = pages.pop() {
            if !seen.insert(path.clone()) || path.contains("audit-log") {
                continue;
            }
            let page = browser.get(&path).await;
            let location = Some(page.location().to_owned());
            pages.extend(location.filter(|to| !to.is_empty()));
            pages.extend(links(&page));
            for form in forms(&page) {
                assert!(form.contains(&field), "{path}: {form}");
                assert_eq!(form.matches("name=\"user\"").count(), 1, "{path}: {form}");
                sent_to.insert(route(form, &path));
            }
        }
    }
    let posted = operations().into_iter().filter(|(method, _)| *method == "POST");
    let posted = posted.map(|(_, path)| path);
    let posted = posted.filter(|path| !["/sign-in", "/setup", "/join"].contains(&&**path));
    assert_eq!(sent_to, posted.collect(), "the pages have all forms");
    let joining = scene.outsider.open(&link).await;
    assert_eq!(joining.body.matches("name=\"user\"").count(), 1, "to sign out");
}

/// The component gives a form its user. The forms of strangers have none, and the one that joins has a field of its own.
#[test]
fn only_forms_of_strangers_are_written_without_the_component() {
    let templates = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
    let files = fs::read_dir(templates).unwrap().map(|file| file.unwrap().path());
    let mut written = Vec::new();
    for file in files.filter(|file| file.is_file()) {
        let text = fs::read_to_string(&file).unwrap().to_lowercase();
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        let posted = text
            .split("<form")
            .skip(1)
            .filter(|form| form.split('>').next().unwrap().contains("post"));
        written.extend(posted.map(|_| name.clone()));
    }
    written.sort_unstable();
    let expected = [
        "components.html",
        "components.html",
        "join.html",
        "join.html",
        "join_signed_in.html",
        "setup.html",
        "sign_in.html",
    ];
    assert_eq!(written, expected);
}

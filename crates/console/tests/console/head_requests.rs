//! HEAD, which no GET's effect follows.

use keyward_console::operations;
use reqwest::Method;

use crate::invitations::{INVITATIONS, invitation};
use crate::projects::project;
use crate::running::Running;

#[tokio::test]
async fn head_answers_like_get_and_is_never_recorded() {
    let (running, ada) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let key = running.installation.issue(&ada.as_holder(), "Deploy").await;
    let project = project(&running, &ada, "Notes").await;
    invitation(&browser, "Grace", "member").await;
    let invitations = browser.get(INVITATIONS).await.body;
    let (before, _) = invitations.split_once("/revoke").unwrap();
    let (_, invitation) = before.rsplit_once('/').unwrap();
    let id_in = |path: &str| match path {
        _ if path.contains("/api-keys/") => key.key.id.to_string(),
        _ if path.contains("/projects/") => project.id.to_string(),
        _ if path.contains("/invitations/") => invitation.to_owned(),
        _ => ada.membership.id.to_string(),
    };
    let store = &running.installation.store;
    let mut recorded = Vec::new();
    for (_, route) in operations().iter().filter(|(method, _)| *method == "GET") {
        let path = route.replace(":slug", "acme").replace(":id", &id_in(route));
        let before = store.events();
        let head = browser.send(browser.request(Method::HEAD, &path)).await;
        assert_eq!(store.events(), before, "{path}");
        assert_eq!(head.body, "", "{path}");
        let get = browser.get(&path).await;
        assert_eq!(head.status, get.status, "{path}");
        for header in ["content-type", "content-disposition", "cache-control", "location"] {
            assert_eq!(head.header(header), get.header(header), "{path}");
        }
        if store.events() != before {
            recorded.push(route.clone());
        }
    }
    let export = "/organizations/:slug/settings/audit-log/export";
    assert_eq!(recorded, ["csv", "jsonl"].map(|kind| format!("{export}.{kind}")));
}

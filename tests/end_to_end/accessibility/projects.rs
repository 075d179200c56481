//! The pages of projects in each state.

use super::tour::Tour;
use keyward_tests::keyward::Keyward;

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_nothing_on_project_pages() {
    let keyward = Keyward::start_set_up().await;
    let mut tour = Tour::begin(&keyward).await;
    tour.sign_in().await;
    let projects = "/organizations/engines/settings/projects";
    tour.go_and_look("no projects yet", projects).await;
    tour.go_and_look("new project", &format!("{projects}/new")).await;
    tour.press_unvalidated("Create project").await;
    tour.browser.element("[aria-invalid=true]").await;
    tour.look("new project with errors").await;
    tour.browser.fill("name", "Engine").await;
    tour.browser.press("Create project").await;
    tour.browser.element("[data-notice]").await;
    tour.look("project created").await;
    let project = tour.browser.address().await;
    let project = project.split('?').next().expect("an address").to_owned();

    tour.browser.press("Add members").await;
    tour.browser.element("[name=search]").await;
    tour.look("add members").await;
    tour.click("td button").await;
    tour.browser.element("[data-notice]").await;
    tour.look("member added").await;
    let search = format!("{project}/add-members?search=nobody");
    tour.browser.go_to(&search).await;
    tour.look("no members to add").await;
    tour.browser.go_to(&project).await;
    tour.look("project with a member").await;
    tour.browser.element("#name").await;
    tour.browser.fill("name", " ").await;
    tour.press_unvalidated("Rename project").await;
    tour.browser.element("[aria-invalid=true]").await;
    tour.look("project renamed with errors").await;

    tour.browser.go_to(&format!("{project}/archive")).await;
    tour.look("archive project").await;
    tour.press_unvalidated("Archive project").await;
    tour.browser.element("[aria-invalid=true]").await;
    tour.look("archive project unconfirmed").await;
    tour.browser.go_to(&project).await;
    tour.click("a[data-dialog]").await;
    tour.browser.element("dialog[open] [name=confirm]").await;
    tour.look("archive project in a dialog").await;
    tour.click("dialog[open] [name=confirm]").await;
    tour.click("dialog[open] button.danger").await;
    tour.browser.element("[data-notice]").await;
    tour.look("project archived").await;
    tour.go_and_look("archived projects", &format!("{projects}?status=archived"))
        .await;
    tour.browser.go_to(&format!("{project}/archive")).await;
    tour.look("project archived before").await;
    tour.browser.go_to(&project).await;
    tour.browser.press("Restore project").await;
    tour.browser.element("[data-notice]").await;
    tour.look("project restored").await;
    tour.click("td button").await;
    tour.browser.element("[data-notice]").await;
    tour.look("member of a project removed").await;
    tour.end().await;
}

//! Pages of joining, membership and leaving.

use super::tour::Tour;
use keyward_tests::keyward::{Keyward, OWNER_PASSWORD};

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_nothing_while_members_join_and_leave() {
    let keyward = Keyward::start_set_up().await;
    let mut tour = Tour::begin(&keyward).await;
    let members = "/organizations/engines/settings/members";
    tour.sign_in().await;
    tour.browser.go_to(&tour.url(&format!("{members}/invite"))).await;
    tour.browser.fill("invitee", " ").await;
    tour.press_unvalidated("Create invitation").await;
    tour.browser.element("[aria-invalid=true]").await;
    tour.look("invite member with errors").await;
    tour.browser.fill("invitee", "Grace").await;
    tour.browser.press("Create invitation").await;
    let link = tour.browser.element("#link").await.value().await;
    let link = link.expect("a field").expect("a link");
    tour.look("the invitation's link").await;
    tour.browser.driver.refresh().await.expect("a reload");
    tour.browser.element("tbody").await;
    tour.look("already invited").await;
    tour.go_and_look("invitations", &format!("{members}/invitations"))
        .await;
    let revoke_page = tour.browser.element("a[href$='/revoke']").await;
    let revoke_page = revoke_page.attr("href").await.expect("a link");
    tour.go_and_look("revoke an invitation", &revoke_page.expect("an address"))
        .await;
    tour.browser.go_to(&link).await;
    tour.look("join as a member already").await;

    tour.browser.press("Go to Engines").await;
    tour.sign_out().await;
    tour.browser.go_to(&link).await;
    tour.look("join").await;
    tour.browser.fill("display_name", "Grace").await;
    tour.browser.fill("username", "ada").await;
    tour.browser.fill("password", "seven lamps burn low").await;
    tour.browser.press("Create account").await;
    tour.browser.element("[aria-invalid=true]").await;
    tour.look("join with errors").await;
    tour.browser.fill("username", "grace").await;
    tour.browser.fill("password", "seven lamps burn low").await;
    tour.browser.press("Create account").await;
    tour.browser.element(".empty").await;
    keyward
        .command("admin create-organization --name Observatory --owner ada", "")
        .await;
    tour.sign_out().await;

    tour.sign_in().await;
    let other = "/organizations/observatory/settings/members/invite";
    tour.browser.go_to(&tour.url(other)).await;
    tour.browser.fill("invitee", "Grace").await;
    tour.browser.press("Create invitation").await;
    let link = tour.browser.element("#link").await.value().await;
    let link = link.expect("a field").expect("a link");
    tour.browser.press("Done").await;
    tour.browser.element("tbody").await;
    tour.sign_out().await;
    tour.browser.fill("username", "grace").await;
    tour.browser.fill("password", "seven lamps burn low").await;
    tour.browser.press("Sign in").await;
    tour.browser.element(".empty").await;
    tour.browser.go_to(&link).await;
    tour.look("join while signed in").await;
    tour.browser.press("Sign out").await;
    tour.browser.element("[name=password]").await;

    tour.sign_in().await;
    tour.browser.go_to(&tour.url(members)).await;
    tour.browser.press("Manage Grace").await;
    tour.browser.element(".part").await;
    tour.look("member").await;
    tour.browser.press("Remove member").await;
    tour.browser.element("[name=confirm]").await;
    tour.look("remove member").await;
    tour.press_unvalidated("Remove member").await;
    tour.browser.element("[aria-invalid=true]").await;
    tour.look("remove member unconfirmed").await;
    tour.click("[name=confirm]").await;
    tour.browser.press("Remove member").await;
    tour.browser.element("[data-notice]").await;
    tour.look("member removed").await;
    tour.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_nothing_while_owners_change() {
    let keyward = Keyward::start_set_up().await;
    let mut tour = Tour::begin(&keyward).await;
    tour.sign_in().await;
    let members = "/organizations/engines/settings/members";
    let olga = "--organization engines --username olga";
    let create = format!("admin create-user {olga} --role owner --password-stdin");
    keyward.command(&create, OWNER_PASSWORD).await;
    tour.go_and_look("what new keys get", "/organizations/engines/settings/general")
        .await;
    tour.click("[name=manage_keys][value=no]").await;
    tour.browser.press("Save").await;
    tour.browser.element("[data-notice]").await;
    tour.look("chosen what new keys get").await;
    tour.go_and_look("an owner may leave", "/organizations/engines/settings/general")
        .await;
    tour.go_and_look("leave", "/organizations/engines/settings/general/leave")
        .await;
    tour.press_unvalidated("Leave organization").await;
    tour.browser.element("[aria-invalid=true]").await;
    tour.look("leave unconfirmed").await;
    tour.browser.go_to(&tour.url(members)).await;
    tour.browser.press("Manage olga").await;
    tour.browser.press("Make member").await;
    tour.browser.element("[name=confirm]").await;
    tour.look("make an owner a member").await;
    tour.browser.go_to(&tour.url(members)).await;
    tour.browser.press("Manage olga").await;
    tour.browser.press("Change expiration").await;
    tour.browser.element("[name=expiration]").await;
    tour.look("plan when a membership ends").await;
    tour.browser.go_to(&tour.url(members)).await;
    tour.browser.press("Manage ada").await;
    tour.browser.element(".part").await;
    tour.look("an owner of two").await;
    tour.browser.press("Make member").await;
    tour.browser.element("[name=confirm]").await;
    tour.look("step down").await;
    tour.press_unvalidated("Make member").await;
    tour.browser.element("[aria-invalid=true]").await;
    tour.look("step down unconfirmed").await;
    tour.click("[name=confirm]").await;
    keyward.command(&format!("admin remove-member {olga}"), "").await;
    tour.browser.press("Make member").await;
    tour.browser.element("[role=alert]").await;
    tour.look("the last owner steps down").await;
    tour.end().await;
}

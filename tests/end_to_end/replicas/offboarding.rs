//! An owner's change of a member's access at one server takes effect at the other before it is answered.

use reqwest::{Method, StatusCode};

use super::Two;
use keyward_tests::api::Api;
use keyward_tests::console::{PlainConsole, hidden_value};

const SETTINGS: &str = "/organizations/engines/settings";
const PASSWORD: &str = "seven slow boats sail";
const CONFIRMED: [(&str, &str); 1] = [("confirm", "yes")];

/// How often a member is added to a project and removed.
const ROUNDS: usize = 10;

/// A member who uses the console at the first server, and the key at the second.
struct Member {
    console: PlainConsole,
    at_second: Api,
}

impl Member {
    async fn joins(two: &Two, username: &str) -> Self {
        let create =
            format!("admin create-user --organization engines --username {username} --password-stdin");
        two.first.command(&create, PASSWORD).await;
        let console = PlainConsole::sign_in(two.first.base_url(), username, PASSWORD).await;
        let key = console.api_with_first_key().await;
        let at_second = Api::anonymous(two.second.base_url()).with_token(key.token().expect("a token"));
        Self { console, at_second }
    }

    /// The status of forward authentication at the second server, for a request for a project.
    async fn admission(&self, project: &str) -> StatusCode {
        let path = format!("/auth?project={project}");
        let asked = self.at_second.request(Method::GET, &path).send().await;
        asked.expect("an answer").status()
    }

    async fn is_refused_everywhere(&self, project: &str) -> bool {
        !self.at_second.is_accepted().await && self.admission(project).await == StatusCode::UNAUTHORIZED
    }
}

/// The identifier of a new project, and the page of its settings.
async fn new_project(owner: &PlainConsole) -> (String, String) {
    let form_page = format!("{SETTINGS}/projects/new");
    let page = owner.create_project(&form_page, "Difference Engine").await;
    let page = page.split('?').next().expect("an address");
    let id = page.rsplit('/').next().expect("an identifier");
    (id.to_owned(), page.to_owned())
}

/// The hidden field that names a member in the form that adds them to a project.
async fn member_field(owner: &PlainConsole, page: &str, username: &str) -> String {
    let found = owner.get(&format!("{page}/add-members?search={username}")).await;
    hidden_value(&found, "member").expect("the member is found")
}

#[tokio::test(flavor = "multi_thread")]
async fn project_access_changed_at_one_server_holds_at_the_other() {
    let two = Two::start().await;
    let owner = PlainConsole::sign_in_owner(&two.first).await;
    let grace = Member::joins(&two, "grace").await;
    let (project, page) = new_project(&owner).await;
    let field = member_field(&owner, &page, "grace").await;
    let field = [("member", &*field)];
    let admission = async || grace.admission(&project).await;
    assert_eq!(admission().await, StatusCode::FORBIDDEN);
    for round in 0..ROUNDS {
        owner.submit(&format!("{page}/add-members"), &field).await;
        assert_eq!(admission().await, StatusCode::OK, "added, round {round}");
        owner.submit(&format!("{page}/remove-member"), &field).await;
        assert_eq!(admission().await, StatusCode::FORBIDDEN, "removed, round {round}");
    }
    owner.submit(&format!("{page}/add-members"), &field).await;
    for round in 0..ROUNDS {
        assert_eq!(admission().await, StatusCode::OK, "restored, round {round}");
        owner.submit(&format!("{page}/archive"), &CONFIRMED).await;
        assert_eq!(
            admission().await,
            StatusCode::FORBIDDEN,
            "archived, round {round}"
        );
        owner.submit(&format!("{page}/restore"), &[]).await;
    }
    assert!(grace.at_second.is_accepted().await, "the key itself works");
}

#[tokio::test(flavor = "multi_thread")]
async fn ended_membership_is_refused_at_the_other_server() {
    let two = Two::start().await;
    let owner = PlainConsole::sign_in_owner(&two.first).await;
    let (project, page) = new_project(&owner).await;
    let (removed, leaver) = (
        Member::joins(&two, "grace").await,
        Member::joins(&two, "alan").await,
    );
    let mut fields = Vec::new();
    for (member, username) in [(&removed, "grace"), (&leaver, "alan")] {
        let field = member_field(&owner, &page, username).await;
        owner
            .submit(&format!("{page}/add-members"), &[("member", &field)])
            .await;
        assert!(member.at_second.is_accepted().await);
        assert_eq!(member.admission(&project).await, StatusCode::OK);
        fields.push(field);
    }
    let remove = format!("{SETTINGS}/members/{}/remove", fields[0]);
    owner.submit(&remove, &CONFIRMED).await;
    assert!(removed.is_refused_everywhere(&project).await);
    assert_eq!(leaver.admission(&project).await, StatusCode::OK);
    let leave = format!("{SETTINGS}/general/leave");
    leaver.console.submit(&leave, &CONFIRMED).await;
    assert!(leaver.is_refused_everywhere(&project).await);
}

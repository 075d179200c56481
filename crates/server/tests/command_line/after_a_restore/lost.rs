//! The installation whose database is lost later.

use serde_json::Value;

use crate::browser::{cookie, create_key, send, sign_in, token_in};
use crate::place::Place;
use crate::server::Server;
use crate::setup::PASSWORD;

const SETTINGS: &str = "/organizations/acme-sons/settings";

pub(super) struct Lost {
    pub(super) place: Place,
    /// Tokens of Ada's keys.
    pub(super) revoked: String,
    pub(super) kept: String,
    /// The path of an invitation's link.
    link: String,
}

impl Lost {
    /// Ada and carl are owners, bob and dora members, bob in a project; two people are invited.
    pub(super) fn set_up(place: Place) -> Self {
        place.bootstrap();
        for (username, role) in [("bob", "member"), ("carl", "owner"), ("dora", "member")] {
            let (username, role) = (format!("--username={username}"), format!("--role={role}"));
            let create = ["admin", "create-user", &username, &role, "--password-stdin"];
            place.keyward(&create).input(PASSWORD).run().success();
        }
        let server = place.serve(&[]);
        let signed_in = sign_in(&server, "ada", PASSWORD);
        let ada = cookie(&signed_in);
        let key = |name| {
            let page = create_key(&server, ada, name);
            format!("Authorization: Bearer {}", token_in(&page.body))
        };
        let (revoked, kept) = (key("revoked"), key("kept"));
        for name in ["Robots", "Rockets", "Reopened"] {
            submit_new(&server, ada, "/projects/new", &format!("name={name}"));
        }
        submit_new(&server, ada, "/members/invite", "invitee=Grace&role=member");
        let page = submit_new(&server, ada, "/members/invite", "invitee=Ian&role=member");
        let (_, link) = page.split_once("/join?token=").unwrap();
        let link = link.split_once('"').unwrap().0.to_owned();
        let lost = Self {
            place,
            revoked,
            kept,
            link,
        };
        let robots = lost.id("project.create", "name", "Robots");
        let bob = lost.id("membership.create", "username", "bob");
        Self::submit(
            &server,
            ada,
            &format!("/projects/{robots}/add-members"),
            &format!("member={bob}"),
        );
        lost
    }

    /// Makes all changes that take access away, and reverses some of them.
    pub(super) fn remove_access(&self) {
        let server = self.place.serve(&[]);
        let signed_in = sign_in(&server, "ada", PASSWORD);
        let ada = cookie(&signed_in);
        let revoke = |bearer: &str| {
            let own = "/api/v1/user/api-keys/current";
            assert_eq!(server.ask("DELETE", own, &[bearer], "").status, 204);
        };
        revoke(&self.revoked);
        let page = create_key(&server, ada, "later");
        revoke(&format!("Authorization: Bearer {}", token_in(&page.body)));
        let member = |username| self.id("membership.create", "username", username);
        let project = |name| self.id("project.create", "name", name);
        let confirmed =
            |path: &str, form: &str| Self::submit(&server, ada, path, &format!("{form}&confirm=yes"));
        confirmed(&format!("/members/{}/role", member("carl")), "role=member");
        confirmed(&format!("/members/{}/remove", member("dora")), "");
        let of_robots = format!("/projects/{}/remove-member", project("Robots"));
        confirmed(&of_robots, &format!("member={}", member("bob")));
        confirmed(&format!("/projects/{}/archive", project("Rockets")), "");
        confirmed(&format!("/projects/{}/archive", project("Reopened")), "");
        confirmed(&format!("/projects/{}/restore", project("Reopened")), "");
        let grace = self.id("invitation.create", "name", "Grace");
        confirmed(&format!("/members/invitations/{grace}/revoke"), "");
        let newcomer = format!(
            "token={}&as=newcomer&display_name=Ian&username=ian&password={}",
            self.link,
            PASSWORD.replace(' ', "+")
        );
        assert_eq!(send(&server, "/join", "", &newcomer).status, 303);
        let reset = ["admin", "reset-password", "--username=bob", "--generate-password"];
        self.place.keyward(&reset).run().success();
        assert_eq!(send(&server, "/sign-out", ada, "").status, 303);
    }

    /// As the documentation says, oldest first.
    pub(super) fn log(&self) -> String {
        let print = ["admin", "audit-log", "--after=start", "--all"];
        self.place.keyward(&print).run().success()
    }

    /// The subject of the event with this action.
    pub(super) fn id(&self, action: &str, field: &str, value: &str) -> String {
        let log = self.log();
        let events = log.lines().map(|line| serde_json::from_str(line).unwrap());
        let mut subjects = events
            .filter(|event: &Value| event["action"] == action)
            .map(|event| event["subject"].clone());
        let subject = subjects.find(|subject| subject[field] == value).unwrap();
        subject["id"].as_str().unwrap().to_owned()
    }

    /// Submits a form of Organization Settings.
    #[track_caller]
    pub(super) fn submit(server: &Server, cookie: &str, path: &str, form: &str) {
        let answer = send(server, &format!("{SETTINGS}{path}"), cookie, form);
        assert_eq!(answer.status, 303, "{path}: {answer:?}");
    }
}

/// Submits a form that may be submitted once.
fn submit_new(server: &Server, cookie: &str, path: &str, form: &str) -> String {
    let path = format!("{SETTINGS}{path}");
    let page = server.ask("GET", &path, &[&format!("Cookie: {cookie}")], "").body;
    let (_, rest) = page.split_once("name=\"idempotency_key\" value=\"").unwrap();
    let (idempotency_key, _) = rest.split_once('"').unwrap();
    let form = format!("idempotency_key={idempotency_key}&{form}");
    send(server, &path, cookie, &form).body
}

//! A snapshot of what owners and holders see, to find later changes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::world::{SETTINGS, World};
use keyward_tests::api::{Api, text};

const WHAT_WAS_DONE: &str = "what was done";

/// The shown data, by the page or operation that shows it.
pub(super) struct Snapshot {
    administration: BTreeMap<&'static str, String>,
    keys: BTreeMap<&'static str, String>,
}

impl World {
    pub(super) async fn snapshot(&self) -> Snapshot {
        let (owner, stranger) = (&self.owner, &self.stranger);
        let elsewhere = "/organizations/observatory/settings";
        let mut administration = BTreeMap::new();
        for (what, person, path) in [
            ("members", owner, format!("{SETTINGS}/members")),
            ("invitations", owner, format!("{SETTINGS}/members/invitations")),
            ("projects", owner, format!("{SETTINGS}/projects?status=all")),
            (
                "the project",
                owner,
                format!("{SETTINGS}/projects/{}", self.project),
            ),
            ("the other's members", stranger, format!("{elsewhere}/members")),
            (
                "the other's projects",
                stranger,
                format!("{elsewhere}/projects?status=all"),
            ),
        ] {
            let page = person.console.get(&path).await;
            // The number of a member's keys is not part of administration.
            let shown = page
                .lines()
                .filter(|line| !line.contains("data-label=\"Valid keys\""));
            administration.insert(what, shown.collect::<Vec<_>>().join("\n"));
        }
        let mut keys = BTreeMap::new();
        for (what, person) in [
            ("the member's keys", &self.member),
            ("the owner's keys", owner),
            ("the other's keys", stranger),
        ] {
            keys.insert(what, keys_of(&person.api).await);
        }
        for (what, person, settings) in [
            (WHAT_WAS_DONE, owner, SETTINGS),
            ("what was done elsewhere", stranger, elsewhere),
        ] {
            let log = person
                .console
                .get(&format!("{settings}/audit-log/export.jsonl"))
                .await;
            // Reading it here writes events, too.
            let is_left_out = |line: &str| {
                line.contains("\"outcome\":\"refused\"") || line.contains("\"action\":\"audit_log.export\"")
            };
            let done = log.lines().filter(|line| !is_left_out(line));
            keys.insert(what, done.collect::<Vec<_>>().join("\n"));
        }
        let page = self.member.console.get("/account").await;
        keys.insert(
            "the member's sessions",
            page.matches("/account/sessions/").count().to_string(),
        );
        Snapshot { administration, keys }
    }
}

impl Snapshot {
    pub(super) fn assert_unchanged(&self, after: &Self, by: &str) {
        self.assert_same_administration(after, by);
        assert_same(&self.keys, &after.keys, by);
    }

    /// Members, invitations and projects are as they were; keys may be others.
    pub(super) fn assert_same_administration(&self, after: &Self, by: &str) {
        assert_same(&self.administration, &after.administration, by);
    }

    /// Fails if the audit log of the organization has any other event since.
    pub(super) fn assert_only_keys_were_acted_on(&self, after: &Self) {
        let (before, after) = (&self.keys[WHAT_WAS_DONE], &after.keys[WHAT_WAS_DONE]);
        let known: BTreeSet<_> = before.lines().collect();
        let new: Vec<_> = after.lines().filter(|line| !known.contains(line)).collect();
        assert!(!new.is_empty(), "keys were made, and the audit log tells nothing");
        for event in new {
            assert!(event.contains("\"action\":\"api_key."), "{event}");
        }
    }
}

fn assert_same(before: &BTreeMap<&str, String>, after: &BTreeMap<&str, String>, by: &str) {
    for (what, before) in before {
        let after = after.get(what).expect("the same things are looked at");
        let lines = |text: &str| text.lines().map(ToOwned::to_owned).collect::<BTreeSet<_>>();
        let (gone, new) = (&lines(before) - &lines(after), &lines(after) - &lines(before));
        assert!(
            before == after,
            "{what} changed {by}; gone: {gone:#?}; new: {new:#?}"
        );
    }
}

/// All of a holder's keys, without when they were used.
async fn keys_of(api: &Api) -> String {
    let page = api.list("?status=all").await;
    let shown =
        |key: &Value| ["id", "name", "description", "status"].map(|field| text(key, field).to_owned());
    let keys: Vec<_> = page["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(shown)
        .collect();
    format!("{keys:#?}")
}

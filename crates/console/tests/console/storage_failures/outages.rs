//! One kind of record that cannot be read.

use std::sync::Arc;

use keyward_console::Console;
use keyward_domain::testing::TestInstallation;

use super::{SETTINGS, Scene, assert_says_so};

/// One port that is down while the others answer.
struct Outage<'a> {
    take_down: fn(&mut Console, &TestInstallation),
    /// Pages of an owner that then fail.
    owner: &'a [&'a str],
    /// Pages of a member that then fail.
    member: &'a [&'a str],
}

const OUTAGES: &[Outage<'_>] = &[
    Outage {
        take_down: |console, down| console.members = down.members(),
        owner: &["members", "members/{grace}", "members/{grace}/remove"],
        member: &[],
    },
    Outage {
        take_down: |console, down| console.invitations = down.invitations(),
        owner: &["members/invitations"],
        member: &[],
    },
    Outage {
        take_down: |console, down| console.joining = down.joining(),
        owner: &["/join?token={invitation}"],
        member: &["/join?token={invitation}"],
    },
    Outage {
        take_down: |console, down| console.projects = down.projects(),
        owner: &[
            "projects",
            "projects/{project}",
            "projects/{project}/archive",
            "projects/{project}/add-members",
        ],
        member: &[],
    },
    Outage {
        take_down: |console, down| console.reachable_projects = Arc::new(down.store.clone()),
        owner: &[],
        member: &["projects"],
    },
    Outage {
        take_down: |console, down| console.organization_keys = down.organization_keys(),
        owner: &["api-keys/all", "api-keys/all/{key}"],
        member: &[],
    },
    Outage {
        take_down: |console, down| console.keys = down.keys(),
        owner: &["api-keys"],
        member: &["api-keys", "api-keys/{key}/edit", "api-keys/{key}/revoke"],
    },
    Outage {
        take_down: |console, down| console.names = Arc::new(down.store.clone()),
        owner: &[],
        member: &["api-keys?status=all"],
    },
    Outage {
        take_down: |console, down| console.audit_trail = down.audit_trail(),
        owner: &["audit-log", "audit-log/export.csv", "audit-log/export.jsonl"],
        member: &[],
    },
    Outage {
        take_down: |console, down| console.own_account = down.own_account(),
        owner: &["/account"],
        member: &["/account"],
    },
    Outage {
        take_down: |console, down| console.memberships = Arc::new(down.store.clone()),
        owner: &[
            "/",
            "/account",
            "general",
            "members",
            "projects",
            "audit-log",
            "audit-log/export.csv",
        ],
        member: &[
            "/",
            "/account",
            "general",
            "general/leave",
            "api-keys",
            "projects",
        ],
    },
];

#[tokio::test]
async fn page_during_storage_outage_shows_error_instead_of_partial_content() {
    let down = TestInstallation::new();
    down.store.go_down();
    for outage in OUTAGES {
        let scene = Scene::new(|console| (outage.take_down)(console, &down)).await;
        let (key, project) = (scene.key("Laptop").await, scene.project("Notes").await);
        scene.revoke_as_owner(&scene.key("Phone").await).await;
        for (browser, paths) in [(&scene.owner, outage.owner), (&scene.member, outage.member)] {
            for path in paths {
                let path = path
                    .replace("{grace}", &scene.grace.membership.id.to_string())
                    .replace("{key}", &key)
                    .replace("{project}", &project)
                    .replace("{invitation}", &"0".repeat(64));
                let path = if path.starts_with('/') {
                    path
                } else {
                    format!("{SETTINGS}/{path}")
                };
                let answer = browser.open(&path).await;
                assert_says_so(&answer, 503, "Wait a few seconds, then try again.", &path);
                assert_eq!(answer.header("content-disposition"), "", "{path}: no file");
            }
        }
    }
}

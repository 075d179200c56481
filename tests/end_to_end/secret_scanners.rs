//! Scanners with the pattern of `docs/secret-scanning.md`.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use tokio::process::Command;

use crate::others::{packages, run};
use keyward_tests::console::PlainConsole;
use keyward_tests::keyward::Keyward;

const PAGE: &str = include_str!("../../docs/secret-scanning.md");

#[tokio::test(flavor = "multi_thread")]
async fn gitleaks_finds_every_token_and_no_hint() {
    let keyward = Keyward::start_set_up().await;
    let api = PlainConsole::sign_in_owner(&keyward).await;
    let api = api.api_with_first_key().await;
    let mut tokens = Vec::new();
    let mut hints = String::new();
    for name in ["code", "configuration", "log", "address"] {
        let created = api.create(name, "").await;
        tokens.push(created["fullKey"].as_str().expect("a token").to_owned());
        hints = format!("{hints}{} {}\n", created["hint"], created["id"]);
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("for-gitleaks");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("scanned")).expect("a folder");
    let rules = PAGE
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let files = [
        ("rules.toml", rules.expect("the rules of gitleaks").to_owned()),
        ("scanned/main.js", format!("const key = \"{}\";\n", tokens[0])),
        ("scanned/deploy.env", format!("KEYWARD_API_KEY={}\n", tokens[1])),
        (
            "scanned/proxy.log",
            format!("Authorization: Bearer {}\r\n", tokens[2]),
        ),
        (
            "scanned/a.sh",
            format!("curl https://example.com/?key={}&x=1\n", tokens[3]),
        ),
        ("scanned/keys.txt", hints),
    ];
    for (name, text) in files {
        fs::write(folder.join(name), text).expect("a file");
    }

    let mut gitleaks = Command::new(packages("judges/python").join("venv/bin/gitleaks"));
    gitleaks
        .current_dir(&folder)
        .args(["dir", "scanned", "--config=rules.toml"]);
    gitleaks.args(["--report-format=json", "--report-path=-", "--exit-code=0"]);
    gitleaks.args(["--no-banner", "--log-level=error"]);
    let found: Vec<Value> = serde_json::from_str(&run(&mut gitleaks).await).expect("a report");
    let by_our_rule = found.iter().filter(|found| found["RuleID"] == "keyward-api-key");
    let secrets: BTreeSet<&str> = by_our_rule.filter_map(|found| found["Secret"].as_str()).collect();
    let expected: BTreeSet<&str> = tokens.iter().map(String::as_str).collect();
    assert_eq!(secrets, expected, "{found:#?}");
    assert!(
        found.iter().all(|found| found["File"] != "scanned/keys.txt"),
        "{found:#?}"
    );
}

//! Names the commit that the binary is built from, for `keyward --version`.

use std::env;
use std::process::Command;

/// Names the commit where the sources are not a clone, as in an image's build.
const COMMIT: &str = "KEYWARD_COMMIT";

fn main() {
    println!("cargo::rerun-if-env-changed={COMMIT}");
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let given = env::var(COMMIT).ok().filter(|commit| !commit.is_empty());
    let version = match given.or_else(commit_of_clone) {
        Some(commit) => format!("{version} ({commit})"),
        None => version,
    };
    // Without the prefix of options: `cargo run` gives this variable to the program, too.
    println!("cargo::rustc-env=VERSION_WITH_COMMIT={version}");
}

fn commit_of_clone() -> Option<String> {
    // Both change with every commit and checkout, also where `.git` is a file that names another folder.
    for file in ["HEAD", "logs/HEAD"] {
        println!(
            "cargo::rerun-if-changed={}",
            git(&["rev-parse", "--git-path", file])?
        );
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

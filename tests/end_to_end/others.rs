//! Others' programs that the tests run, and what they run on.

use std::path::{Path, PathBuf};

use tokio::process::Command;

/// Where the packages are installed that `tests/{place}` pins.
pub(crate) fn packages(place: &str) -> PathBuf {
    let folder = std::env::var_os("KEYWARD_TEST_PACKAGES").expect(
        "KEYWARD_TEST_PACKAGES names the folder of others' programs; `cargo xtask test` installs them and sets this",
    );
    Path::new(&folder).join(place)
}

/// The API's document, as it is checked in.
pub(crate) fn document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../openapi/v1.json")
}

/// What a command prints; it must succeed.
pub(crate) async fn run(command: &mut Command) -> String {
    match attempt(command).await {
        Ok(printed) => printed,
        Err(printed) => panic!("{command:?} failed:\n{printed}"),
    }
}

/// What a command prints when it succeeds, or all that it says when it fails.
pub(crate) async fn attempt(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .await
        .unwrap_or_else(|error| panic!("{command:?} does not start ({error})"));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        Ok(printed)
    } else {
        Err(format!("{printed}\n{}", String::from_utf8_lossy(&output.stderr)))
    }
}

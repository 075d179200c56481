//! Third-party programs that the tests run.

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

/// The output of a command, which must succeed.
pub(crate) async fn run(command: &mut Command) -> String {
    match attempt(command).await {
        Ok(printed) => printed,
        Err(printed) => panic!("{command:?} failed:\n{printed}"),
    }
}

/// The standard output of a command that succeeds, or all output of one that fails.
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

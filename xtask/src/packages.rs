//! Others' programs that the tests run, from npm and PyPI: in versions that files below `tests` pin,
//! installed below `target`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::run;
use crate::failure::{Failure, Outcome};
use crate::workspace::Workspace;

/// The variable through which the tests find the folder.
pub(crate) const FOLDER_VARIABLE: &str = "KEYWARD_TEST_PACKAGES";

/// The lock files from which the packages were installed. It is written last, so if it exists, the folder is
/// complete.
const INSTALLED: &str = "installed";

/// The folder of the packages, which the first run of the tests fills.
pub(crate) fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target().join("test-packages")
}

/// Installs packages that are missing or pinned to another version; returns the folder, which has the same
/// paths as the pins in `tests`.
pub(crate) fn ensure(workspace: &Workspace) -> Outcome<PathBuf> {
    let pins = workspace.root().join("tests");
    let folder = folder(workspace);
    for place in ["clients/typescript", "judges/npm", "resource_servers/node"] {
        ensure_one(
            &pins.join(place),
            &["package-lock.json", "package.json", ".npmrc"],
            &folder.join(place),
            install_from_npm,
        )?;
    }
    for place in ["clients/python", "judges/python", "resource_servers/python"] {
        ensure_one(
            &pins.join(place),
            &["requirements.txt"],
            &folder.join(place),
            install_from_pypi,
        )?;
    }
    Ok(folder)
}

fn install_from_npm(folder: &Path) -> Outcome {
    run(Command::new("npm").args(["ci", "--silent"]).current_dir(folder))
}

fn install_from_pypi(folder: &Path) -> Outcome {
    run(Command::new("python3")
        .args(["-m", "venv", "venv"])
        .current_dir(folder))?;
    run(Command::new(folder.join("venv/bin/python"))
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        // Everything is pinned to its digests, and nothing is built.
        .args(["--no-deps", "--only-binary", ":all:", "--require-hashes"])
        .args(["--requirement", "requirements.txt"])
        .current_dir(folder))
}

/// Copies the files that pin versions into a new folder and installs there, unless that was done with the
/// same files.
fn ensure_one(pins: &Path, files: &[&str], folder: &Path, install: impl FnOnce(&Path) -> Outcome) -> Outcome {
    let mut pinned = Vec::new();
    for file in files {
        let path = pins.join(file);
        pinned.extend(fs::read(&path).map_err(Failure::about(path.display()))?);
    }
    let installed = folder.join(INSTALLED);
    if fs::read(&installed).is_ok_and(|before| before == pinned) {
        return Ok(());
    }
    eprintln!("installing into {}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(Failure::about(folder.display()))?;
    }
    fs::create_dir_all(folder).map_err(Failure::about(folder.display()))?;
    for file in files {
        fs::copy(pins.join(file), folder.join(file)).map_err(Failure::about(folder.join(file).display()))?;
    }
    install(folder)?;
    fs::write(&installed, pinned).map_err(Failure::about(installed.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_reinstalled_after_a_changed_pin_or_failure() {
        let scratch = std::env::temp_dir().join(format!("keyward-xtask-{}", std::process::id()));
        let (pins, folder) = (scratch.join("pins"), scratch.join("folder"));
        fs::create_dir_all(&pins).unwrap();
        let mut installations = 0;
        let mut ensure = |pin: &str, succeeds: bool| {
            fs::write(pins.join("lock"), pin).unwrap();
            let outcome = ensure_one(&pins, &["lock"], &folder, |folder| {
                installations += 1;
                assert_eq!(fs::read_to_string(folder.join("lock")).unwrap(), pin);
                succeeds.then_some(()).ok_or_else(|| Failure::new("no network"))
            });
            assert_eq!(outcome.is_ok(), succeeds);
            installations
        };
        assert_eq!(ensure("1", false), 1);
        assert_eq!(ensure("1", true), 2);
        assert_eq!(ensure("1", true), 2);
        assert_eq!(ensure("2", true), 3);
        fs::remove_dir_all(&scratch).unwrap();
    }
}

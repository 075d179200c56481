//! Packages for machines without a toolchain: a Debian package and a tarball.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{cargo, output, run};
use crate::failure::{Failure, Outcome};
use crate::workspace::Workspace;
use crate::{released, tools};

/// The files in the tarball beside the program, from the root of the repository.
const FILES: &[&str] = &[
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "SECURITY.md",
    "compose.yaml",
    "crates/server/packaging",
    "docs",
    "openapi/v1.json",
];

/// `cargo xtask package`: makes both of the release build, and prints where they are.
pub(crate) fn package(workspace: &Workspace) -> Outcome {
    tools::ensure(workspace, tools::FOR_PACKAGES)?;
    let keyward = released::keyward(workspace)?;
    let package = debian_package(workspace, "release", &["--target", &released::host()?])?;
    let tarball = tarball(workspace, &keyward, &package)?;
    println!("{}\n{}", package.display(), tarball.display());
    Ok(())
}

/// Packs the program that `profile` built, with the tools for packages; `target` if it was built for one. The manifest
/// of `keyward` lists the package's other files.
pub(crate) fn debian_package(workspace: &Workspace, profile: &str, target: &[&str]) -> Outcome<PathBuf> {
    let folder = workspace.target().join("package").join(profile);
    let line = [
        "deb",
        "--no-build",
        "--package",
        "keyward",
        "--profile",
        profile,
        "--output",
    ];
    // The folder exists, or it would be the name of the file.
    std::fs::create_dir_all(&folder).map_err(Failure::about(folder.display()))?;
    let printed = output(cargo(workspace, &line).arg(&folder).args(target))?;
    let name = Path::new(printed.trim()).file_name();
    let name = name.ok_or_else(|| Failure::new("cargo-deb names no package"))?;
    Ok(folder.join(name))
}

/// Beside the package and named as it is, with one folder at its top. The same commit makes the same bytes,
/// but for the program.
fn tarball(workspace: &Workspace, keyward: &Path, package: &Path) -> Outcome<PathBuf> {
    let tarball = package.with_extension("tar.gz");
    let top = package.file_stem().unwrap_or_default().to_string_lossy();
    let committed = output(
        Command::new("git")
            .args(["log", "-1", "--format=@%ct"])
            .current_dir(workspace.root()),
    )?;
    let folder = keyward.parent().unwrap_or(Path::new("."));
    run(Command::new("tar")
        .args([
            "--create",
            "--gzip",
            "--sort=name",
            "--numeric-owner",
            "--owner=0",
            "--group=0",
        ])
        .arg(format!("--mtime={}", committed.trim()))
        .arg("--transform=s,^crates/server/,,")
        .arg(format!("--transform=s,^,{top}/,"))
        .arg("--file")
        .arg(&tarball)
        .arg("--directory")
        .arg(folder)
        .arg("keyward")
        .arg("--directory")
        .arg(workspace.root())
        .args(FILES))?;
    Ok(tarball)
}

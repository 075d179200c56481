//! Installs Debian's packages, only as root on Debian, where no password is needed.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::command::{quietly, run_quietly};
use crate::failure::{Failure, Outcome};
use crate::services::{NoServices, POLICY};

/// Prints the download and disk size of `packages`, and installs them. Fails with the command to run if the
/// user is not root on Debian.
pub(crate) fn install(packages: &[&str]) -> Outcome {
    if !(is_root() && Path::new("/etc/debian_version").exists()) {
        return Err(Failure::new(on_your_own(packages)));
    }
    eprintln!("installing Debian's packages: {}", packages.join(" "));
    let _no_services = NoServices::hold(Path::new(POLICY))?;
    run_quietly(&mut apt_get(&["update"]))?;
    // It ends with a failure, because `--assume-no` stops it.
    let refused = quietly(apt_get(&["install", "--assume-no", "--no-install-recommends"]).args(packages))?;
    for line in costs(&String::from_utf8_lossy(&refused.stdout)) {
        eprintln!("  {line}");
    }
    run_quietly(apt_get(&["install", "--yes", "--no-install-recommends"]).args(packages))
}

/// The lines of apt-get's output with the number of packages, the download size and the disk space.
fn costs(said: &str) -> impl Iterator<Item = &str> {
    let of_costs = |line: &&str| {
        line.contains(" newly installed")
            || line.starts_with("Need to get ")
            || line.starts_with("After this operation")
    };
    said.lines().filter(of_costs)
}

fn on_your_own(packages: &[&str]) -> String {
    format!(
        "install what is missing and run this again. On Debian:\n  sudo apt-get install --no-install-recommends {}",
        packages.join(" ")
    )
}

fn apt_get(arguments: &[&str]) -> Command {
    let mut command = Command::new("apt-get");
    command
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .env("LC_ALL", "C")
        .stdin(Stdio::null());
    command
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_of_packages_are_read_from_apt() {
        let said = "Reading package lists...\nThe following NEW packages will be installed:\n  npm wrk\n\
                    3 upgraded, 618 newly installed, 0 to remove and 6 not upgraded.\nNeed to get 349 MB of archives.\n\
                    After this operation, 1588 MB of additional disk space will be used.\n\
                    Do you want to continue? [Y/n] N\nAbort.\n";
        assert_eq!(
            costs(said).collect::<Vec<_>>(),
            [
                "3 upgraded, 618 newly installed, 0 to remove and 6 not upgraded.",
                "Need to get 349 MB of archives.",
                "After this operation, 1588 MB of additional disk space will be used.",
            ]
        );
    }

    #[test]
    fn user_without_install_rights_gets_the_exact_command() {
        let advice = on_your_own(&["postgresql", "chromium"]);
        assert!(
            advice.ends_with("apt-get install --no-install-recommends postgresql chromium"),
            "{advice}"
        );
    }
}

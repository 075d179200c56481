//! The tests on a machine whose network has no IPv6, though its hosts file names `::1` for localhost: so is a
//! container of many an engine.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::command::run;
use crate::failure::{Failure, Outcome};
use crate::workspace::Workspace;

/// What such a network has broken: everything that a browser does, and connections to a name with several
/// addresses.
const AFFECTED: &str =
    "(package(keyward-tests) and test(journey)) or (package(keyward-persistence) and test(tls))";

/// What the hosts file says there.
const HOSTS: &str = "127.0.0.1 localhost\n::1 localhost\n";

/// Makes such a machine of new namespaces, which end with it. The first argument is the hosts file, the rest
/// is what to run. A kernel that was built or started without IPv6 has nothing to switch off.
const SCRIPT: &str = r#"
set -eu
ip link set lo up
switch=/proc/sys/net/ipv6/conf/all/disable_ipv6
if [ -e "$switch" ]; then echo 1 > "$switch"; fi
mount --bind "$1" /etc/hosts
shift
exec "$@"
"#;

/// `cargo xtask without-ipv6`: `cargo xtask test` in such a network, of the tests that it concerns unless
/// `arguments` name others. Fails where the machine cannot make one.
pub(crate) fn without_ipv6(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let hosts = write_hosts(workspace)?;
    if let Err(reason) = can_be_made(&hosts) {
        return Err(Failure::new(reason));
    }
    run_tests(&hosts, arguments)
}

/// The same for continuous integration, which says so and goes on where the machine cannot make one.
pub(crate) fn where_possible(workspace: &Workspace) -> Outcome {
    let hosts = write_hosts(workspace)?;
    match can_be_made(&hosts) {
        Ok(()) => run_tests(&hosts, &[]),
        Err(reason) => {
            eprintln!(
                "SKIPPED, {reason}. The same tests run with this machine's own network in step `tests`."
            );
            Ok(())
        }
    }
}

fn run_tests(hosts: &Path, arguments: &[String]) -> Outcome {
    let this = env::current_exe().map_err(Failure::about("this program's path"))?;
    let mut command = inside(hosts);
    command.arg(this).arg("test");
    // No server outside can be reached from there.
    command
        .args(["--database", "cluster"])
        .env_remove(crate::database_server::URL_VARIABLE);
    if arguments.is_empty() {
        command.args(["--profile", "ci", "-E", AFFECTED]);
    } else {
        command.args(arguments);
    }
    run(&mut command)
}

fn can_be_made(hosts: &Path) -> Result<(), String> {
    let output = inside(hosts).arg("true").stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!(
            "no network without IPv6 can be made here, which takes root, unshare(1) and ip(8): {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )),
        Err(error) => Err(format!("unshare(1) of util-linux does not start: {error}")),
    }
}

fn inside(hosts: &Path) -> Command {
    let mut command = Command::new("unshare");
    command
        .args(["--net", "--mount", "sh", "-c", SCRIPT, "sh"])
        .arg(hosts);
    command
}

fn write_hosts(workspace: &Workspace) -> Outcome<std::path::PathBuf> {
    let path = workspace.target().join("hosts-without-ipv6");
    fs::create_dir_all(workspace.target()).map_err(Failure::about(workspace.target().display()))?;
    fs::write(&path, HOSTS).map_err(Failure::about(path.display()))?;
    Ok(path)
}

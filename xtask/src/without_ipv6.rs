//! The tests on a machine whose network has no IPv6, although its hosts file names `::1` for localhost, as in
//! the containers of many engines.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::command::run;
use crate::failure::{Failure, Outcome};
use crate::workspace::Workspace;

/// The tests that such a network can break: those with a browser, with connections to a name with several
/// addresses, and with servers that listen for both families.
pub(crate) const AFFECTED: &str = "(package(keyward-tests) and test(journey)) or package(keyward-front-door) \
                                   or (package(keyward-persistence) and test(tls))";

const HOSTS: &str = "127.0.0.1 localhost\n::1 localhost\n";

/// Switches IPv6 off in new namespaces, and runs a command there. The first argument is the hosts file, the
/// others are the command. A kernel that was built or started without IPv6 has nothing to switch off.
const SCRIPT: &str = r#"
set -eu
ip link set lo up
switch=/proc/sys/net/ipv6/conf/all/disable_ipv6
if [ -e "$switch" ]; then echo 1 > "$switch"; fi
mount --bind "$1" /etc/hosts
shift
exec "$@"
"#;

/// A network without IPv6, for commands that run in it.
pub(crate) struct NetworkWithoutIpv6 {
    hosts: PathBuf,
}

impl NetworkWithoutIpv6 {
    pub(crate) fn new(workspace: &Workspace) -> Outcome<Self> {
        let hosts = workspace.target().join("hosts-without-ipv6");
        fs::create_dir_all(workspace.target()).map_err(Failure::about(workspace.target().display()))?;
        fs::write(&hosts, HOSTS).map_err(Failure::about(hosts.display()))?;
        Ok(Self { hosts })
    }

    /// Why this machine cannot create such a network, or `None` if it can.
    pub(crate) fn obstacle(&self) -> Option<String> {
        match self.command().arg("true").stdin(Stdio::null()).output() {
            Ok(output) if output.status.success() => None,
            Ok(output) => Some(format!(
                "no network without IPv6 can be made here, which takes root, unshare(1) and ip(8): {}",
                String::from_utf8_lossy(&output.stderr).trim()
            )),
            Err(error) => Some(format!("unshare(1) of util-linux does not start: {error}")),
        }
    }

    /// `cargo xtask test` in it. No server outside can be reached from there.
    pub(crate) fn test_command(&self, arguments: &[impl AsRef<OsStr>]) -> Outcome<Command> {
        let this = env::current_exe().map_err(Failure::about("this program's path"))?;
        let mut command = self.command();
        command
            .arg(this)
            .args(["test", "--database", "cluster"])
            .args(arguments)
            .env_remove(crate::database_server::URL_VARIABLE);
        Ok(command)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("unshare");
        command
            .args(["--net", "--mount", "sh", "-c", SCRIPT, "sh"])
            .arg(&self.hosts);
        command
    }
}

/// `cargo xtask without-ipv6`: `cargo xtask test` in such a network.
pub(crate) fn without_ipv6(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let network = NetworkWithoutIpv6::new(workspace)?;
    match network.obstacle() {
        None => run(&mut network.test_command(arguments)?),
        Some(reason) => Err(Failure::new(reason)),
    }
}

//! A Debian machine in a container, on which the package runs as a service of systemd.

use std::process::{Command, Stdio};

use crate::engine::{Image, docker, output};

/// Runs a command as the service runs.
pub(crate) const COMMAND: &str = "keyward-service";

/// How exposed the service may be at most, as `systemd-analyze security` counts from 0 to 100.
const EXPOSURE: &str = "--threshold=15";

/// The port is published at `authority`, which is `ADDRESS:PORT`.
pub(crate) fn start(machine: &Image, name: &str, authority: &str) {
    let publish = format!("{authority}:8080");
    let mut run = Command::new("docker");
    run.args(["run", "--detach", "--name", name, "--publish", &publish]);
    // systemd mounts, and builds the namespaces that confine the service.
    run.args(["--cap-add", "SYS_ADMIN", "--cgroupns", "private"]);
    run.args(["--security-opt", "seccomp=unconfined"]);
    run.args(["--security-opt", "apparmor=unconfined"]);
    run.args(["--tmpfs", "/run", "--tmpfs", "/tmp"]);
    output(run.arg(machine.name()), "");
    // It fails if a unit failed to start; the checks below show which one.
    let mut wait = Command::new("docker");
    wait.args(["exec", name, "systemctl", "is-system-running", "--wait"]);
    let _ = wait.stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// Installs the package, and checks its dependencies and the confinement of its service.
pub(crate) fn install(name: &str) {
    apt_get(name, &["install", "--no-install-recommends", "/keyward.deb"]);
    let needed = run(
        name,
        &["dpkg-query", "--show", "--showformat=${Depends}", "keyward"],
    );
    assert!(needed.contains("libc6"), "the package names no library: {needed}");
    systemctl(name, &["is-active", "--quiet", "keyward"]);
    run(
        name,
        &["systemd-analyze", "security", "--no-pager", EXPOSURE, "keyward"],
    );
}

/// Writes the service's options as an administrator does.
pub(crate) fn configure(name: &str, public_url: &str) {
    let options = format!("KEYWARD_LISTEN=0.0.0.0:8080\nKEYWARD_PUBLIC_URL={public_url}\n");
    let mut append = Command::new("docker");
    append.args(["exec", "--interactive", name, "tee", "--append"]);
    output(append.arg("/etc/keyward/keyward.env"), &options);
    restart(name);
}

pub(crate) fn restart(name: &str) {
    systemctl(name, &["restart", "keyward"]);
    let result = run(
        name,
        &["systemctl", "show", "--property=Result,NRestarts", "keyward"],
    );
    assert_eq!(
        result, "Result=success\nNRestarts=0\n",
        "the service ended otherwise than by SIGTERM"
    );
}

/// Kills the server, which systemd then starts again.
pub(crate) fn kill(name: &str) {
    systemctl(name, &["kill", "--signal=KILL", "--kill-who=main", "keyward"]);
}

/// Installs the same package over itself, as an upgrade does.
pub(crate) fn upgrade(name: &str) {
    apt_get(name, &["install", "--reinstall", "/keyward.deb"]);
}

/// Removes the package; returns the names of the files in the data directory, which stay.
pub(crate) fn remove(name: &str) -> String {
    apt_get(name, &["purge", "keyward"]);
    run(name, &["ls", "/var/lib/keyward"])
}

pub(crate) fn is_healthy(name: &str) -> bool {
    let mut check = Command::new("docker");
    check.args(["exec", name, COMMAND, "healthcheck"]);
    let check = check.stdout(Stdio::null()).stderr(Stdio::null()).status();
    check.is_ok_and(|status| status.success())
}

/// Prints and returns the last lines of the service's log.
pub(crate) fn last_lines(name: &str) -> String {
    let lines = run(
        name,
        &["journalctl", "--unit=keyward", "--lines=20", "--no-pager"],
    );
    println!("{lines}");
    lines
}

fn apt_get(name: &str, arguments: &[&str]) {
    let quiet = [
        "env",
        "DEBIAN_FRONTEND=noninteractive",
        "apt-get",
        "--quiet=2",
        "--yes",
    ];
    run(name, &[&quiet, arguments].concat());
}

fn systemctl(name: &str, arguments: &[&str]) {
    run(name, &[&["systemctl"], arguments].concat());
}

fn run(name: &str, command: &[&str]) -> String {
    docker(&[&["exec", name], command].concat())
}

//! How Debian's programs are started with a configuration.

use std::net::{SocketAddr, TcpListener as FreePort};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tempfile::TempDir;
use tokio::process::Command;

/// nginx with a site, included as Debian's nginx.conf does.
pub(super) fn nginx(folder: &Path, site: &str) -> Command {
    let here = folder.display();
    let around = format!(
        "daemon off; master_process off; error_log stderr crit; pid {here}/pid;
         events {{ worker_connections 256; }}
         http {{
             access_log off;
             client_body_temp_path {here}/body; proxy_temp_path {here}/proxy;
             fastcgi_temp_path {here}/fastcgi; uwsgi_temp_path {here}/uwsgi; scgi_temp_path {here}/scgi;
             {site}
         }}"
    );
    let file = folder.join("nginx.conf");
    std::fs::write(&file, around).expect("a configuration");
    let mut command = Command::new(program("nginx"));
    command
        .args(["-e", "stderr", "-c"])
        .arg(file)
        .arg("-p")
        .arg(folder);
    command
}

/// HAProxy with a configuration.
pub(super) fn haproxy(folder: &Path, site: &str) -> Command {
    std::fs::write(folder.join("haproxy.cfg"), site).expect("a configuration");
    let mut command = Command::new(program("haproxy"));
    command.args(["-db", "-f", "haproxy.cfg"]).stderr(Stdio::null());
    command
}

pub(super) fn caddy(folder: &Path, site: &str) -> Command {
    // The file's own options, before its site, stand in the same block.
    let (before, after) = site.split_once("{\n").expect("options");
    let options = "{\n\tadmin off\n\tauto_https disable_redirects\n";
    std::fs::write(folder.join("Caddyfile"), [before, options, after].concat()).expect("a configuration");
    let mut command = Command::new(program("caddy"));
    command.args(["run", "--adapter", "caddyfile", "--config", "Caddyfile"]);
    command
        .env("HOME", folder)
        .env("XDG_DATA_HOME", folder)
        .env("XDG_CONFIG_HOME", folder);
    command.stderr(Stdio::null());
    command
}

pub(super) fn new_folder() -> TempDir {
    TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder")
}

/// A program on the PATH, or where Debian puts servers.
pub(super) fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    let found = folders.find(|folder| folder.join(name).is_file());
    found
        .unwrap_or_else(|| panic!("{name} is missing; `cargo xtask test` says how to install it"))
        .join(name)
}

pub(super) fn free_address() -> SocketAddr {
    let free = FreePort::bind("127.0.0.1:0").expect("a free port");
    free.local_addr().expect("a free port")
}

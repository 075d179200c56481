//! Warnings at the start of the server about data that others on this machine or on the network can read or change.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tracing::warn;

/// The permission bits of users who are neither the owner nor in the group.
const READ: u32 = 0o004;
const WRITE: u32 = 0o002;

/// How to keep a file with a secret from others.
const CLOSE_SECRET: &str = "run `chmod o-rwx` on the file; in Docker set the secret's `mode: 0400` and `uid`, in \
                            Kubernetes `defaultMode: 0440` and `fsGroup`";

/// Warns of a data directory in which others may put another database, and of files in it that they may read
/// or write.
pub(crate) fn warn_of_open_data_directory(directory: &Path, database: &Path) {
    let of_directory = permissions_of_others(directory);
    if of_directory & WRITE != 0 {
        warn!(
            path = %directory.display(),
            hint = "run `chmod o-rwx` on the directory",
            "data directory is writable by other users, who may replace the database"
        );
    }
    if let Ok(metadata) = fs::metadata(directory)
        && !is_trusted(metadata.uid())
    {
        warn!(
            path = %directory.display(),
            owner = metadata.uid(),
            hint = "make the user that runs this the owner of the directory",
            "data directory belongs to another user, who may replace the database"
        );
    }
    // Other users cannot reach a file in a directory that is closed to them.
    if of_directory == 0 {
        return;
    }
    for file in with_companions(database) {
        if permissions_of_others(&file) & (READ | WRITE) != 0 {
            warn!(
                path = %file.display(),
                hint = "run `chmod o-rwx` on the file",
                "database file with password hashes is accessible to other users"
            );
        }
    }
}

/// Warns of files that hold a URL, and with it perhaps a password, if others may read or write them.
pub(crate) fn warn_of_open_url_files(files: impl IntoIterator<Item = PathBuf>) {
    for file in files {
        if permissions_of_others(&file) & (READ | WRITE) != 0 {
            warn!(
                path = %file.display(),
                hint = CLOSE_SECRET,
                "database URL file is accessible to other users"
            );
        }
    }
}

/// Warns of files that say whom this server trusts, if others may change them, and of a file with a secret, if others
/// may read or change it.
pub(crate) fn warn_of_open_configuration(trusted: [Option<&Path>; 2], secret: Option<&Path>) {
    let trusted = trusted
        .into_iter()
        .flatten()
        .map(|file| (file, WRITE, "run `chmod o-w` on the file"));
    for (file, permissions, hint) in trusted.chain(secret.map(|file| (file, READ | WRITE, CLOSE_SECRET))) {
        if permissions_of_others(file) & permissions != 0 {
            warn!(
                path = %file.display(),
                hint,
                "configuration file is accessible to other users"
            );
        }
    }
}

/// Warns of a listener that other machines reach and that nothing says is behind TLS.
pub(crate) fn warn_of_plain_listener(address: SocketAddr, is_behind_tls: bool) {
    if !address.ip().is_loopback() && !is_behind_tls {
        warn!(
            address = %address,
            hint = "listen on 127.0.0.1, or set --public-url to the https URL of a TLS proxy in front",
            "traffic from other machines is not encrypted"
        );
    }
}

/// Warns of metrics that other machines can read, because they need no authentication.
pub(crate) fn warn_of_reachable_metrics(address: SocketAddr) {
    if !address.ip().is_loopback() {
        warn!(
            address = %address,
            hint = "listen on 127.0.0.1, or let only Prometheus reach the address",
            "metrics are served to other machines without authentication"
        );
    }
}

/// Root may do anything anyway.
fn is_trusted(user: u32) -> bool {
    user == 0 || user == rustix::process::geteuid().as_raw()
}

/// The database and what SQLite keeps beside it.
fn with_companions(database: &Path) -> [PathBuf; 3] {
    ["", "-wal", "-shm"].map(|suffix| {
        let mut file = database.as_os_str().to_owned();
        file.push(suffix);
        file.into()
    })
}

/// The permissions of other users; 0 if they cannot be determined.
fn permissions_of_others(path: &Path) -> u32 {
    fs::metadata(path).map_or(0, |metadata| metadata.permissions().mode() & 0o007)
}

#[cfg(test)]
mod tests {
    use super::is_trusted;

    #[test]
    fn root_and_the_servers_own_user_are_trusted() {
        let own = rustix::process::geteuid().as_raw();
        assert!(is_trusted(0) && is_trusted(own));
        assert!(!is_trusted(own + 1));
    }
}

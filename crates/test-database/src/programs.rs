//! Finds PostgreSQL's server programs, and the user to run them as.

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Backend, Error};

/// A command of PostgreSQL's own server programs, such as `pg_ctl`, run by the user who may run it, with
/// messages in English.
///
/// # Errors
/// [`Error::NoPostgres`] when the programs or that user are not there.
pub fn server_program(name: &str) -> Result<Command, Error> {
    let unavailable = |reason| Error::NoPostgres {
        tried: vec![(Backend::Cluster, reason)],
    };
    let beside_initdb = folder().map_err(unavailable)?.join(name);
    // The folder may hold links to a few of them; the others are on the PATH.
    let mut command = Command::new(if beside_initdb.is_file() {
        beside_initdb
    } else {
        name.into()
    });
    command.env("LC_ALL", "C");
    if let Some(Account { user, group }) = account_to_run_as().map_err(unavailable)? {
        command.uid(user).gid(group);
    }
    Ok(command)
}

/// The account under which the server must run, if not as this user.
pub(crate) fn account_to_run_as() -> Result<Option<Account>, String> {
    let we_are_root = fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0);
    we_are_root.then(account_for_root).transpose()
}

/// The folder that holds `initdb` and `postgres`: on the PATH, else the newest in the places where Debian,
/// Red Hat and Homebrew keep them.
pub(crate) fn folder() -> Result<PathBuf, String> {
    let on_path = env::var_os("PATH")
        .map(|path| env::split_paths(&path).collect())
        .unwrap_or_default();
    find(
        on_path,
        &[
            ("/usr/lib/postgresql", "", "bin"),
            ("/usr", "pgsql-", "bin"),
            ("/opt/homebrew/opt", "postgresql@", "bin"),
            ("/usr/local/opt", "postgresql@", "bin"),
        ],
    )
}

fn find(on_path: Vec<PathBuf>, versioned: &[(&str, &str, &str)]) -> Result<PathBuf, String> {
    let mut candidates = on_path;
    for (parent, prefix, below) in versioned {
        candidates.extend(
            newest_first(Path::new(parent), prefix)
                .into_iter()
                .map(|folder| folder.join(below)),
        );
    }
    candidates
        .into_iter()
        .find(|folder| folder.join("initdb").is_file() && folder.join("postgres").is_file())
        .ok_or_else(|| "no `initdb` and `postgres` on the PATH or in /usr/lib/postgresql/*/bin".to_owned())
}

fn newest_first(parent: &Path, prefix: &str) -> Vec<PathBuf> {
    let mut versions: Vec<(u32, PathBuf)> = fs::read_dir(parent)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.strip_prefix(prefix)?.parse().ok()?;
            Some((version, entry.path()))
        })
        .collect();
    versions.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    versions.into_iter().map(|(_, folder)| folder).collect()
}

/// A user's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) user: u32,
    pub(crate) group: u32,
}

/// `initdb` refuses to run as root: root lends the cluster to `postgres`, else to `nobody`.
fn account_for_root() -> Result<Account, String> {
    let accounts = fs::read_to_string("/etc/passwd").map_err(|error| format!("/etc/passwd: {error}"))?;
    ["postgres", "nobody"]
        .iter()
        .find_map(|name| account_in(&accounts, name))
        .ok_or_else(|| {
            "initdb refuses to run as root, and there is no user `postgres` or `nobody`".to_owned()
        })
}

fn account_in(accounts: &str, name: &str) -> Option<Account> {
    accounts.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next() != Some(name) {
            return None;
        }
        let user = fields.nth(1)?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        Some(Account { user, group })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_programs_are_reported_with_the_searched_paths() {
        let obstacle = find(Vec::new(), &[("/nonexistent", "", "bin")]).unwrap_err();
        assert!(
            obstacle.contains("initdb") && obstacle.contains("PATH"),
            "{obstacle}"
        );
    }

    #[test]
    fn account_is_found_by_its_full_name() {
        let accounts =
            "root:x:0:0:root:/root:/bin/bash\npostgres2:x:7:8::/:/bin/sh\npostgres:x:101:104::/:/bin/sh\n";
        assert_eq!(
            account_in(accounts, "postgres"),
            Some(Account {
                user: 101,
                group: 104
            })
        );
        assert_eq!(account_in(accounts, "nobody"), None);
    }
}

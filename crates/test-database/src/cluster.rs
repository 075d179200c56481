//! A private PostgreSQL cluster from the machine's own programs, which ends with its owner.

use std::fs;
use std::io::{ErrorKind, Read};
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::ServerUrl;
use crate::programs::{Account, account_to_run_as, folder as programs_folder};
use crate::server_url::answers;
use crate::unique::{random_hex, unique_name};

/// Runs the server until its standard input closes, which the operating system does for an owner that was
/// killed.
///
/// It is a process of its own rather than code in `Drop`, because a test process can end without dropping
/// anything.
const SUPERVISOR: &str = include_str!("cluster_supervisor.sh");

/// How often a free port is looked for when another process takes it first.
const PORT_ATTEMPTS: u32 = 5;

/// How often the server is asked whether it answers, and for how long in all: initdb may be slow on a busy
/// machine.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const POLLS: u32 = 6_000;

/// Linux's file system in memory. On ext4, PostgreSQL spends up to two fifths of its time on finding inodes
/// for the files of new databases.
const MEMORY: &str = "/dev/shm";

/// Bytes that must be free there: a run of all tests writes less than half of it.
const ROOM_IN_MEMORY: u64 = 4 << 30;

/// A running cluster; dropping it stops the server and, unless it is kept, removes its folder.
#[derive(Debug)]
pub(crate) struct Cluster {
    url: ServerUrl,
    supervisor: Child,
}

impl Cluster {
    /// A cluster in a new folder that is removed with it: in memory, where there is room.
    pub(crate) async fn temporary() -> Result<Self, String> {
        let programs = programs_folder()?;
        let parent = with_room(MEMORY.as_ref()).unwrap_or_else(std::env::temp_dir);
        let folder = parent.join(unique_name("keyward_test_cluster"));
        Self::start(&programs, &folder, "remove", &[], free_port).await
    }

    /// A cluster whose folder is made when it is missing, and stays; `settings` are `name=value`.
    pub(crate) async fn kept(folder: &Path, settings: &[String]) -> Result<Self, String> {
        let programs = programs_folder()?;
        Self::start(&programs, folder, "keep", settings, free_port).await
    }

    pub(crate) fn url(&self) -> &ServerUrl {
        &self.url
    }

    async fn start(
        programs: &Path,
        folder: &Path,
        afterwards: &str,
        settings: &[String],
        mut port: impl FnMut() -> std::io::Result<u16>,
    ) -> Result<Self, String> {
        let mut obstacle = String::new();
        for _ in 0..PORT_ATTEMPTS {
            // Each time anew: a server that did not start has removed its folder.
            let prepared = Prepared::new(folder)?;
            let port = port().map_err(|error| format!("no free port: {error}"))?;
            let supervisor = prepared.supervisor(programs, port, afterwards, settings)?;
            match Self::answering(supervisor, port, &prepared.password).await {
                Ok(cluster) => return Ok(cluster),
                Err(reason) if reason.contains("could not bind") => obstacle = reason,
                Err(reason) => return Err(reason),
            }
        }
        Err(obstacle)
    }

    /// Waits until the server accepts connections. The password is this cluster's own, so another server that
    /// took the port is not mistaken for it.
    async fn answering(supervisor: Child, port: u16, password: &str) -> Result<Self, String> {
        let url = format!("postgres://postgres:{password}@127.0.0.1:{port}/postgres");
        let url = ServerUrl::parse(&url).map_err(|error| error.to_string())?;
        let mut cluster = Self { url, supervisor };
        let mut last = String::new();
        for _ in 0..POLLS {
            if let Ok(Some(_)) = cluster.supervisor.try_wait() {
                return Err(cluster.last_words());
            }
            match answers(&cluster.url).await {
                Ok(()) => return Ok(cluster),
                Err(reason) => last = reason,
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Err(format!("the server did not answer in time: {last}"))
    }

    fn last_words(&mut self) -> String {
        let mut words = String::new();
        if let Some(stderr) = &mut self.supervisor.stderr {
            // Without its words the exit itself is still reported.
            let _ = stderr.read_to_string(&mut words);
        }
        format!("the server ended at once: {}", words.trim())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Closing the supervisor's input ends it; a failure cannot be reported here.
        drop(self.supervisor.stdin.take());
        let _ = self.supervisor.wait();
    }
}

fn with_room(folder: &Path) -> Option<PathBuf> {
    let space = rustix::fs::statvfs(folder).ok()?;
    (space.f_bavail * space.f_frsize >= ROOM_IN_MEMORY).then(|| folder.to_owned())
}

/// A folder that the server's user owns, with the password in it.
struct Prepared {
    folder: PathBuf,
    password: String,
    account: Option<Account>,
}

impl Prepared {
    fn new(folder: &Path) -> Result<Self, String> {
        let about_folder = |error: std::io::Error| format!("{}: {error}", folder.display());
        if let Err(error) = fs::DirBuilder::new().recursive(false).mode(0o700).create(folder)
            && error.kind() != ErrorKind::AlreadyExists
        {
            return Err(about_folder(error));
        }
        // The server runs in the folder, where a relative path would lead elsewhere.
        let folder = &folder.canonicalize().map_err(about_folder)?;
        let account = account_to_run_as()?;
        let password = password_in(folder).map_err(about_folder)?;
        if let Some(Account { user, group }) = account {
            for path in [folder.to_owned(), password_file(folder)] {
                chown(path, Some(user), Some(group)).map_err(about_folder)?;
            }
        }
        Ok(Self {
            folder: folder.to_owned(),
            password,
            account,
        })
    }

    fn supervisor(
        &self,
        programs: &Path,
        port: u16,
        afterwards: &str,
        settings: &[String],
    ) -> Result<Child, String> {
        let mut command = Command::new("sh");
        command
            .args(["-c", SUPERVISOR, "keyward-test-cluster"])
            .args([programs, &self.folder])
            .args([&port.to_string(), afterwards])
            .args(settings.iter().flat_map(|setting| ["-c", setting]))
            .current_dir(&self.folder)
            .env("LC_ALL", "C")
            .env_remove("PGDATA")
            .env_remove("PGPORT")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            // A group of its own: Ctrl-C and nextest's timeout are for the tests, and the supervisor cleans
            // up after.
            .process_group(0);
        if let Some(Account { user, group }) = self.account {
            command.uid(user).gid(group);
        }
        command.spawn().map_err(|error| format!("sh: {error}"))
    }
}

fn password_file(folder: &Path) -> PathBuf {
    folder.join("password")
}

/// The password that the cluster was made with, or a new one.
fn password_in(folder: &Path) -> std::io::Result<String> {
    let file = password_file(folder);
    match fs::read_to_string(&file) {
        Ok(password) => Ok(password.trim().to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let password = format!("{}{}", random_hex(), random_hex());
            fs::write(&file, &password)?;
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
            Ok(password)
        }
        Err(error) => Err(error),
    }
}

/// A port that is free now. Another process may take it before the server does: the caller tries again.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn port_taken_by_another_process_is_replaced_by_another() {
        let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let mut ports = vec![free_port().unwrap(), taken.local_addr().unwrap().port()];
        let programs = programs_folder().unwrap();
        let folder = std::env::temp_dir().join(unique_name("keyward_test_ports"));
        let free = ports[0];
        let next_port = || {
            ports
                .pop()
                .ok_or_else(|| std::io::Error::other("asked too often"))
        };
        let cluster = Cluster::start(&programs, &folder, "remove", &[], next_port)
            .await
            .unwrap();
        assert!(
            cluster
                .url()
                .maintenance()
                .contains(&format!("127.0.0.1:{free}/"))
        );
        drop(cluster);
        assert!(!folder.exists(), "{} stays behind", folder.display());
    }
}

//! The embedded database, which needs nothing but a directory.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::browser::{cookie, create_key, sign_in};
use crate::keyward::{Answer, Keyward};
use crate::server::Server;
use crate::setup::PASSWORD;

/// A directory of a test's own, removed at the end.
pub(crate) struct DataDirectory(PathBuf);

impl DataDirectory {
    /// The path of a directory that does not exist yet.
    pub(crate) fn new(test: &str) -> Self {
        let name = format!("keyward-{test}-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&directory);
        Self(directory)
    }

    /// In a folder of a test's own.
    pub(crate) const fn at(directory: PathBuf) -> Self {
        Self(directory)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn run(&self, arguments: &[&str], input: &str) -> Answer {
        Keyward::new(arguments).data_directory(&self.0).input(input).run()
    }

    pub(crate) fn bootstrap(&self) -> Answer {
        let arguments = [
            "admin",
            "bootstrap",
            "--organization=Acme & Sons",
            "--username=ada",
            "--password-stdin",
        ];
        self.run(&arguments, PASSWORD)
    }
}

impl Drop for DataDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn clock_confirmation_names_the_database() {
    let directory = DataDirectory::new("clock-confirmed");
    directory.bootstrap().success();
    assert_eq!(
        directory.run(&["clean-up", "--clock-is-right"], "").errors,
        format!(
            "Confirmed this machine's clock for the database {}/keyward.db. Nothing was removed; servers continue within \
             the hour.\n",
            directory.path().display()
        )
    );
}

#[test]
fn data_directory_holds_everything_without_a_database_url() {
    let directory = DataDirectory::new("embedded");
    let mut server = Server::start_in(directory.path());
    assert_eq!(server.get("/readyz").status, 200);
    assert!(directory.path().join("keyward.db").is_file());
    // The command line acts on the file while the server runs, and the server sees it at once.
    directory.bootstrap().success();
    let signed_in = sign_in(&server, "ada", PASSWORD);
    let cookie = cookie(&signed_in).to_owned();
    let created = create_key(&server, &cookie, "survivor");
    assert!(created.status < 400, "{created:?}");

    server.signal(Signal::KILL);
    server.ended();
    let server = Server::start_in(directory.path());
    let list = "/organizations/acme-sons/settings/api-keys";
    let listed = server.ask("GET", list, &[&format!("Cookie: {cookie}")], "");
    assert_eq!(listed.status, 200, "the session outlives the process");
    assert!(listed.body.contains("survivor"), "and so does the key");
}

#[test]
fn data_directory_is_served_by_one_server_at_a_time() {
    let directory = DataDirectory::new("served-twice");
    let mut server = Server::start_in(directory.path());
    let second = directory.run(&["serve", "--listen=127.0.0.1:0"], "");
    assert_eq!(
        second.refusal(),
        format!(
            "the data directory {} is in use by another keyward command or server: stop it or wait until it ends, \
             or choose another directory with --data-dir",
            directory.path().display()
        )
    );
    assert_eq!(server.get("/readyz").status, 200, "the first goes on");
    directory.run(&["migrate"], "").success();

    server.signal(Signal::KILL);
    server.ended();
    let server = Server::start_in(directory.path());
    assert_eq!(server.get("/readyz").status, 200);
}

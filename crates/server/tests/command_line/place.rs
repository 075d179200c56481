//! Where an installation is kept: in a file or on a server.

use std::process::Stdio;

use keyward_test_database::TestDatabase;

use crate::data_directory::DataDirectory;
use crate::keyward::{Answer, Keyward};
use crate::server::Server;
use crate::setup::bootstrap;

pub(crate) enum Place {
    File(DataDirectory),
    Server(TestDatabase),
}

impl Place {
    pub(crate) fn file(test: &str) -> Self {
        Self::File(DataDirectory::new(test))
    }

    pub(crate) async fn server() -> Self {
        Self::Server(TestDatabase::empty().await.unwrap())
    }

    pub(crate) fn keyward(&self, arguments: &[&str]) -> Keyward {
        match self {
            Self::File(directory) => Keyward::new(arguments).data_directory(directory.path()),
            Self::Server(database) => Keyward::new(arguments).database(database.url()),
        }
    }

    /// A command as `keyward` names it, with the data directory if there is one.
    pub(crate) fn printed(&self, command: &str) -> String {
        match self {
            Self::File(directory) => format!("keyward {command} --data-dir {}", directory.path().display()),
            Self::Server(_) => format!("keyward {command}"),
        }
    }

    pub(crate) fn bootstrap(&self) {
        match self {
            Self::File(directory) => directory.bootstrap(),
            Self::Server(database) => bootstrap(database.url()),
        }
        .success();
    }

    pub(crate) fn serve(&self, options: &[&str]) -> Server {
        let arguments = [&["serve", "--listen=127.0.0.1:0"], options].concat();
        Server::listening_as(self.keyward(&arguments))
    }

    pub(crate) fn export(&self) -> String {
        self.keyward(&["export"]).run().success()
    }

    pub(crate) fn import(&self, export: &str) -> Answer {
        self.keyward(&["import"]).input(export).run()
    }
}

/// `keyward export | keyward import`.
pub(crate) fn pipe(from: &Place, to: &Place) {
    let mut exporting = from
        .keyward(&["export"])
        .into_command()
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let export = exporting.stdout.take().unwrap();
    let imported = to
        .keyward(&["import"])
        .into_command()
        .stdin(export)
        .output()
        .unwrap();
    assert!(exporting.wait().unwrap().success());
    let said = String::from_utf8(imported.stderr).unwrap();
    assert!(imported.status.success(), "{said}");
    assert_eq!(imported.stdout, b"");
    assert!(
        said.contains("Imported rows: organizations 1, users 1, "),
        "{said}"
    );
}

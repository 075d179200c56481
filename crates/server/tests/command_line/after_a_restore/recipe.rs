//! The commands of the documentation, as it has them.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Output};

use diesel::connection::{Connection, SimpleConnection};
use diesel::prelude::SqliteConnection;
use rustix::process::Signal;

use super::lost::Lost;
use super::{acts, status};
use crate::data_directory::DataDirectory;
use crate::place::Place;

const DOCUMENTATION: &str = include_str!("../../../../../docs/choosing-a-database.md");

/// The first commands after a sentence.
fn commands_after(sentence: &str) -> &'static str {
    let (_, rest) = DOCUMENTATION.split_once(sentence).unwrap();
    let (_, rest) = rest.split_once("```sh\n").unwrap();
    rest.split_once("```").unwrap().0
}

/// A folder with `keyward-data` and a backup, `keyward-backup.db`, in which the commands run as in a shell.
struct Scene {
    folder: DataDirectory,
    lost: Lost,
}

impl Scene {
    fn backed_up(name: &str) -> Self {
        let folder = DataDirectory::new(name);
        fs::create_dir(folder.path()).unwrap();
        symlink(env!("CARGO_BIN_EXE_keyward"), folder.path().join("keyward")).unwrap();
        let data = DataDirectory::at(folder.path().join("keyward-data"));
        let lost = Lost::set_up(Place::File(data));
        // As SQLite's command line tool does, which this machine may lack.
        let file = folder.path().join("keyward-data/keyward.db");
        let mut database = SqliteConnection::establish(file.to_str().unwrap()).unwrap();
        let copy = folder.path().join("keyward-backup.db");
        let copy = format!("VACUUM INTO '{}'", copy.display());
        database.batch_execute(&copy).unwrap();
        Self { folder, lost }
    }

    fn run(&self, commands: &str) -> Output {
        let path = format!("{}:/usr/bin:/bin", self.folder.path().display());
        let mut shell = Command::new("sh");
        shell
            .env_clear()
            .env("PATH", path)
            .current_dir(self.folder.path());
        shell.args(["-ec", commands]).output().unwrap()
    }

    fn restore(&self) {
        let restored = self.run(commands_after("and put the copy in their place:"));
        assert!(restored.status.success(), "{restored:?}");
    }
}

#[test]
fn documented_recipe_ends_a_key_that_a_backup_revives() {
    let scene = Scene::backed_up("recipe");
    let lost = &scene.lost;
    lost.remove_access();
    scene.restore();
    let server = lost.place.serve(&[]);
    assert_eq!(status(&server, &lost.revoked), 200, "the backup revives it");
    drop(server);

    let repeated = scene.run(commands_after("servers' clocks differ."));
    let errors = String::from_utf8(repeated.stderr).unwrap();
    assert!(errors.contains("\nAPI keys revoked: 1 repeated"), "{errors}");
    assert_eq!(repeated.status.code(), Some(1), "passwords are left");
    let server = lost.place.serve(&[]);
    let keys = [&lost.revoked, &lost.kept];
    assert_eq!(keys.map(|bearer| status(&server, bearer)), [401, 200]);
    assert!(acts(&lost.place).contains(&"api_key.revoke".to_owned()));
}

/// SQLite would replay the log of the lost file into the copy.
#[test]
fn documented_recipe_removes_the_log_of_a_lost_file() {
    let scene = Scene::backed_up("recipe-log");
    let data = scene.folder.path().join("keyward-data");
    scene.lost.remove_access();
    let mut server = scene.lost.place.serve(&[]);
    let reset = ["admin", "reset-password", "--username=ada", "--generate-password"];
    scene.lost.place.keyward(&reset).run().success();
    server.signal(Signal::KILL);
    server.ended();
    assert!(fs::metadata(data.join("keyward.db-wal")).unwrap().len() > 0);
    fs::remove_file(data.join("keyward.db")).unwrap();
    scene.restore();
    assert!(!data.join("keyward.db-wal").exists());
    assert!(scene.folder.path().join("lost/keyward.db-wal").exists());
    let server = scene.lost.place.serve(&[]);
    assert_eq!(server.get("/readyz").status, 200);
    assert_eq!(status(&server, &scene.lost.revoked), 200);
}

//! The commands of the documentation, as it has them.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use diesel::connection::{Connection, SimpleConnection};
use diesel::prelude::SqliteConnection;

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

#[test]
fn documented_recipe_ends_a_key_that_a_backup_revives() {
    let folder = DataDirectory::new("recipe");
    fs::create_dir(folder.path()).unwrap();
    symlink(env!("CARGO_BIN_EXE_keyward"), folder.path().join("keyward")).unwrap();
    let run = |commands: &str| {
        let path = format!("{}:/usr/bin:/bin", folder.path().display());
        let mut shell = Command::new("sh");
        shell.env_clear().env("PATH", path).current_dir(folder.path());
        shell.args(["-ec", commands]).output().unwrap()
    };
    let place = || Place::File(DataDirectory::at(folder.path().join("keyward-data")));
    let lost = Lost::set_up(place());
    // What SQLite's command line tool does, too, which this machine may lack.
    let file = folder.path().join("keyward-data/keyward.db");
    let mut database = SqliteConnection::establish(file.to_str().unwrap()).unwrap();
    let copy = folder.path().join("keyward-backup.db");
    let copy = format!("VACUUM INTO '{}'", copy.display());
    database.batch_execute(&copy).unwrap();
    drop(database);
    lost.remove_access();
    let restored = run(commands_after("and put the copy in their place:"));
    assert!(restored.status.success(), "{restored:?}");
    let server = lost.place.serve(&[]);
    assert_eq!(status(&server, &lost.revoked), 200, "the backup revives it");

    let repeated = run(commands_after("servers' clocks differ."));
    let errors = String::from_utf8(repeated.stderr).unwrap();
    assert!(errors.contains("\nAPI keys revoked: 1 repeated"), "{errors}");
    assert_eq!(repeated.status.code(), Some(1), "passwords are left");
    let keys = [&lost.revoked, &lost.kept];
    assert_eq!(keys.map(|bearer| status(&server, bearer)), [401, 200]);
    assert!(acts(&lost.place).contains(&"api_key.revoke".to_owned()));
}

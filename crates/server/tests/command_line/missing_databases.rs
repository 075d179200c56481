//! A data directory without a database: who makes one, and who refuses.

use std::fs;

use rustix::process::Signal;

use crate::data_directory::DataDirectory;
use crate::keyward::{Answer, Keyward};
use crate::needing_a_database::{NEEDING_A_DATABASE, acts_on_what_is_there};
use crate::server::Server;

/// As somebody types it who is in another directory than the server.
fn typed_in(directory: &DataDirectory, arguments: &[&str]) -> Answer {
    let mut command = Keyward::new(arguments).into_command();
    let ended = command.current_dir(directory.path()).output().unwrap();
    Answer {
        code: ended.status.code(),
        output: String::from_utf8(ended.stdout).unwrap(),
        errors: String::from_utf8(ended.stderr).unwrap(),
    }
}

#[test]
fn command_on_existing_data_creates_no_database_and_names_directory() {
    let elsewhere = DataDirectory::new("elsewhere");
    fs::create_dir(elsewhere.path()).unwrap();
    for command in NEEDING_A_DATABASE
        .into_iter()
        .filter(|command| acts_on_what_is_there(command))
    {
        let answer = typed_in(&elsewhere, command);
        assert_eq!(
            answer.refusal(),
            format!(
                "there is no database in {}: run this command where the server runs, or set --data-dir or \
                 KEYWARD_DATABASE_URL as for the server",
                elsewhere.path().join("keyward-data").display()
            ),
            "{command:?}"
        );
        // A directory that is there may be somebody's, and is left as it is, too.
        let refused = elsewhere.run(command, "");
        assert!(
            refused.refusal().starts_with("there is no database in "),
            "{refused:?}"
        );
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0, "{command:?}");
    }
}

#[test]
fn setup_link_is_made_for_no_database_that_nobody_named() {
    let elsewhere = DataDirectory::new("unnamed");
    fs::create_dir(elsewhere.path()).unwrap();
    let refused = typed_in(&elsewhere, &["admin", "setup-link"]);
    assert!(
        refused.refusal().starts_with("there is no database in "),
        "{refused:?}"
    );
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn initial_command_reports_where_it_created_the_database() {
    let export = DataDirectory::new("made-from");
    export.bootstrap().success();
    let export = export.run(&["export"], "").success();
    let bootstrap = [
        "admin",
        "bootstrap",
        "--organization=Acme",
        "--username=ada",
        "--generate-password",
    ];
    for (command, input) in [
        (&["migrate"][..], ""),
        (&["admin", "setup-link"], ""),
        (&bootstrap, ""),
        (&["import"], &export),
    ] {
        let directory = DataDirectory::new("made");
        let answer = directory.run(command, input);
        let made = format!("Made a new database in {}.\n", directory.path().display());
        assert!(answer.errors.starts_with(&made), "{command:?}: {answer:?}");
        answer.success();
        let again = directory.run(&["migrate"], "");
        assert_eq!(again.errors, "The database is up to date.\n", "{command:?}");
    }
}

#[test]
fn directory_is_reported_as_an_absolute_path() {
    let elsewhere = DataDirectory::new("absolute");
    fs::create_dir(elsewhere.path()).unwrap();
    let made = elsewhere.path().join("keyward-data");
    assert_eq!(
        typed_in(&elsewhere, &["migrate"]).errors,
        format!(
            "Made a new database in {}.\nThe database is up to date.\n",
            made.display()
        )
    );
}

#[test]
fn server_logs_creating_a_new_database() {
    let directory = DataDirectory::new("made-by-server");
    let said = format!(
        "\"message\":\"database created\",\"directory\":\"{}\"",
        directory.path().display()
    );
    for is_new in [true, false] {
        let mut server = Server::start_in(directory.path());
        server.signal(Signal::TERM);
        let (_, log) = server.ended();
        assert_eq!(log.contains(&said), is_new, "{log}");
    }
}

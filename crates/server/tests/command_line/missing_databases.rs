//! A data directory without a database: who makes one, and who refuses.

use std::fs;

use rustix::process::Signal;

use crate::data_directory::DataDirectory;
use crate::keyward::{Answer, Keyward};
use crate::needing_a_database::{NEEDING_A_DATABASE, acts_on_what_is_there, files, on_data_directory};
use crate::server::Server;

/// The command as typed in a directory other than the server's.
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
        // An existing directory may be another program's, and is not changed.
        let refused = elsewhere.run(command, "");
        assert!(
            refused.refusal().starts_with("there is no database in "),
            "{refused:?}"
        );
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0, "{command:?}");
    }
}

#[test]
fn setup_link_command_does_not_create_a_default_database() {
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

/// The changes of a server that was killed may be in the log alone.
#[test]
fn log_of_a_missing_database_is_kept_by_every_command() {
    let directory = DataDirectory::new("log-left");
    let mut server = Server::start_in(directory.path());
    directory.bootstrap().success();
    server.signal(Signal::KILL);
    server.ended();
    let [database, moved, log, index] = ["keyward.db", "moved.db", "keyward.db-wal", "keyward.db-shm"]
        .map(|name| directory.path().join(name));
    assert!(fs::metadata(&log).unwrap().len() > 0);
    fs::rename(&database, &moved).unwrap();
    let before = files(directory.path());
    let expected = format!(
        "the database {} is missing, but {} has its latest changes: put keyward.db back beside it; or, to restore a \
         backup or to begin anew, move it and {} away first",
        database.display(),
        log.display(),
        index.display()
    );
    for command in NEEDING_A_DATABASE {
        let answer = on_data_directory(command, directory.path()).run();
        assert!(answer.refusal().ends_with(&expected), "{command:?}: {answer:?}");
        assert_eq!(files(directory.path()), before, "{command:?}");
    }
    fs::rename(&moved, &database).unwrap();
    let again = directory.bootstrap();
    assert!(
        again.refusal().starts_with("Keyward is already set up"),
        "{again:?}"
    );
}

#[test]
fn no_database_is_created_while_a_server_misses_its_own() {
    let directory = DataDirectory::new("missing-in-use");
    let server = Server::start_in(directory.path());
    let [database, moved] = ["keyward.db", "moved.db"].map(|name| directory.path().join(name));
    fs::rename(&database, &moved).unwrap();
    // A clean end would have removed these files.
    for name in ["keyward.db-wal", "keyward.db-shm"] {
        fs::remove_file(directory.path().join(name)).unwrap();
    }
    for command in NEEDING_A_DATABASE
        .into_iter()
        .filter(|command| !acts_on_what_is_there(command))
    {
        let answer = on_data_directory(command, directory.path()).run();
        assert_eq!(
            answer.refusal(),
            format!(
                "the database {} is missing, but a keyward command or server that uses it still runs (it holds {}): put the \
                 file back, or stop that process before you make a new database",
                database.display(),
                directory.path().join("serve.lock").display()
            ),
            "{command:?}"
        );
        assert!(!database.exists(), "{command:?}");
    }
    drop(server);
}

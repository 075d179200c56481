//! Databases that are named in a way that cannot be meant.

use std::fs;

use crate::data_directory::DataDirectory;
use crate::keyward::Keyward;
use crate::needing_a_database::{NEEDING_A_DATABASE, UNREACHABLE};

#[test]
fn invalid_postgresql_url_is_rejected_without_showing_it() {
    for (url, sentence) in [
        (
            "mysql://me:s3cret@host/db",
            "must look like postgres://user:password@host",
        ),
        ("s3cret", "must look like postgres://user:password@host"),
        (
            "postgres://me:s3cret@host:port/db",
            "must look like postgres://user:password@host",
        ),
        (
            "postgres://",
            "names no host: it must look like postgres://user:password@host",
        ),
        (
            "postgres://me:s3@cret@host/db",
            "write the special characters of user and password as %40",
        ),
        (
            "postgres://me:s3cret@host/db?sslmode=on",
            "sslmode in the database URL must be",
        ),
        (
            "postgres://me:s3cret@host/db?pasword=s3cret",
            "unknown option: check its spelling",
        ),
        (
            "postgres://me:s3cret@host/db?sslmode=disable&sslmode=verify-full",
            "the option sslmode is in the database URL more than once",
        ),
    ] {
        let answer = Keyward::new(&["migrate"]).database(url).run();
        assert!(answer.refusal_of_options().contains(sentence), "{answer:?}");
    }
}

#[test]
fn invalid_url_for_migrations_names_its_variable() {
    let directory = DataDirectory::new("migration-url");
    fs::create_dir(directory.path()).unwrap();
    let file = directory.path().join("url");
    fs::write(&file, "postgres://me:s3cret@host/db?sslmode=on").unwrap();
    for (variable, value) in [
        (
            "KEYWARD_MIGRATION_DATABASE_URL",
            "postgres://me:s3cret@host/db?sslmode=on",
        ),
        ("KEYWARD_MIGRATION_DATABASE_URL_FILE", file.to_str().unwrap()),
    ] {
        let answer = Keyward::new(&["migrate"])
            .database(UNREACHABLE)
            .variable(variable, value)
            .run();
        let refusal = answer.refusal_of_options();
        let expected = format!("invalid URL in {variable}: sslmode in the database URL must be");
        assert!(refusal.starts_with(&expected), "{refusal}");
    }
}

#[test]
fn password_in_a_flag_is_rejected_by_every_command() {
    for command in NEEDING_A_DATABASE {
        let answer = Keyward::new(&[command, &["--database-url", UNREACHABLE]].concat()).run();
        assert_eq!(
            answer.refusal_of_options(),
            "--database-url holds a password, which every user of this machine can read: set KEYWARD_DATABASE_URL \
             instead, or name a file that holds the URL in KEYWARD_DATABASE_URL_FILE"
        );
    }
}

#[test]
fn database_url_has_one_source_only() {
    let answer = Keyward::new(&["migrate"])
        .database(UNREACHABLE)
        .variable("KEYWARD_DATABASE_URL_FILE", "/nowhere")
        .run();
    assert_eq!(
        answer.refusal_of_options(),
        "KEYWARD_DATABASE_URL and KEYWARD_DATABASE_URL_FILE are both set: unset one of them"
    );
}

#[test]
fn missing_empty_or_multiline_url_file_is_named() {
    let directory = DataDirectory::new("url-files");
    fs::create_dir(directory.path()).unwrap();
    for (contents, problem) in [
        (None, "cannot be read: No such file or directory (os error 2)"),
        (Some(""), "is empty: write the database's URL into it"),
        (Some(" \n"), "is empty: write the database's URL into it"),
        (
            Some("postgres://me:s3cret@host/db\npostgres://me:s3cret@host/db\n"),
            "must hold one line, the database's URL",
        ),
    ] {
        let file = directory.path().join("url");
        if let Some(contents) = contents {
            fs::write(&file, contents).unwrap();
        }
        for command in NEEDING_A_DATABASE {
            let answer = Keyward::new(command)
                .variable("KEYWARD_DATABASE_URL_FILE", file.to_str().unwrap())
                .run();
            let sentence = format!(
                "the file {} that KEYWARD_DATABASE_URL_FILE names {problem}",
                file.display()
            );
            assert_eq!(answer.refusal(), sentence, "{command:?}");
        }
    }
}

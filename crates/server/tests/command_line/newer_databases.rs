//! A database that a newer version of Keyward has migrated is left alone.

use std::fs;

use keyward_test_database::TestDatabase;

use crate::data_directory::DataDirectory;
use crate::keyward::Keyward;
use crate::needing_a_database::{NEEDING_A_DATABASE, contents, file, files, on_data_directory};

const SENTENCE: &str = "the database has migration 29991231235959, which this version of Keyward does not know: start \
                        the newer version";

#[tokio::test]
async fn every_command_leaves_a_newer_postgresql_database_alone() {
    let database = TestDatabase::empty().await.unwrap();
    let keyward = |command: &[&str]| Keyward::new(command).database(database.url()).run();
    keyward(&["migrate"]).success();
    let (client, connection) = tokio_postgres::connect(database.url(), tokio_postgres::NoTls)
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    client
        .batch_execute("INSERT INTO __diesel_schema_migrations (version) VALUES ('29991231235959')")
        .await
        .unwrap();
    drop(client);
    connection.await.unwrap().unwrap();

    let before = contents(&database).await;
    for command in NEEDING_A_DATABASE {
        assert_eq!(keyward(command).refusal(), SENTENCE, "{command:?}");
    }
    assert_eq!(contents(&database).await, before);
}

#[test]
fn every_command_leaves_a_newer_database_file_alone() {
    let directory = DataDirectory::new("newer");
    directory.run(&["migrate"], "").success();
    let path = directory.path().join("keyward.db");
    let migrated = fs::read(&path).unwrap();
    // The only version becomes another one of the same length: nothing else of the file needs to know.
    let (known, newer) = (b"20261121090000", b"29991231235959");
    let newer_file = replaced(&migrated, known, newer);
    fs::write(&path, &newer_file).unwrap();

    for command in NEEDING_A_DATABASE {
        let answer = on_data_directory(command, directory.path()).run();
        assert_eq!(answer.refusal(), SENTENCE, "{command:?}");
    }
    let mut left = files(directory.path());
    // The lock of `keyward serve`, which is empty and stays.
    left.retain(|file| !file.starts_with("serve.lock "));
    assert_eq!(left, [file("keyward.db", &newer_file)]);
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let places: Vec<_> = (0..=bytes.len() - from.len())
        .filter(|&start| bytes[start..].starts_with(from))
        .collect();
    assert!(!places.is_empty(), "the version is not in the file");
    for start in places {
        bytes[start..start + to.len()].copy_from_slice(to);
    }
    bytes
}

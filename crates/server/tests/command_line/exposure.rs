//! Warnings at the start of a server whose data is accessible to others.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use keyward_test_database::TestDatabase;
use rustix::process::Signal;

use crate::data_directory::DataDirectory;
use crate::keyward::Keyward;
use crate::server::Server;

fn allow(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// The warnings of a server until it ends.
fn warnings(keyward: Keyward) -> Vec<String> {
    let mut server = Server::listening_as(keyward);
    server.signal(Signal::TERM);
    let (_, log) = server.ended();
    log.lines()
        .filter(|line| line.contains("\"WARN\""))
        .map(str::to_owned)
        .collect()
}

fn serve(directory: &DataDirectory, listen: &str) -> Keyward {
    Keyward::new(&["serve", "--listen", listen]).data_directory(directory.path())
}

#[test]
fn publicly_readable_data_directory_and_database_are_warned_of() {
    let directory = DataDirectory::new("exposed");
    let local = || serve(&directory, "127.0.0.1:0");
    assert_eq!(warnings(local()), [""; 0], "as it is made, it is closed");
    let file = directory.path().join("keyward.db");
    allow(&file, 0o644);
    assert_eq!(warnings(local()), [""; 0], "other users cannot reach the file");

    allow(directory.path(), 0o755);
    let found = warnings(local());
    assert!(
        found[0].contains("keyward.db") && found[0].contains("chmod o-rwx"),
        "{found:?}"
    );
    assert!(!found[0].contains("replace"), "{found:?}");
    allow(&file, 0o600);
    assert!(
        warnings(local())
            .iter()
            .all(|found| !found.contains("keyward.db\""))
    );

    allow(directory.path(), 0o777);
    let found = warnings(local());
    assert!(
        found[0].contains("may replace the database\"") && found[0].contains("chmod o-rwx"),
        "{found:?}"
    );
}

#[test]
fn plaintext_listener_for_other_machines_is_warned_of() {
    let directory = DataDirectory::new("plain-listener");
    let found = warnings(serve(&directory, "0.0.0.0:0"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].contains("is not encrypted") && found[0].contains("--public-url"),
        "{found:?}"
    );
    let behind_tls =
        serve(&directory, "0.0.0.0:0").variable("KEYWARD_PUBLIC_URL", "https://keys.example.com");
    assert!(
        warnings(behind_tls)
            .iter()
            .all(|found| !found.contains("is not encrypted"))
    );
}

#[tokio::test]
async fn publicly_readable_url_file_is_warned_of() {
    let database = TestDatabase::empty().await.unwrap();
    let directory = DataDirectory::new("url-file");
    fs::create_dir(directory.path()).unwrap();
    let file = directory.path().join("database-url");
    fs::write(&file, database.url()).unwrap();
    let serve = || {
        Keyward::new(&["serve", "--listen=127.0.0.1:0"])
            .variable("KEYWARD_DATABASE_URL_FILE", file.to_str().unwrap())
    };
    allow(&file, 0o644);
    let found = warnings(serve());
    assert!(
        found[0].contains("database-url")
            && found[0].contains("chmod o-rwx")
            && found[0].contains("defaultMode"),
        "{found:?}"
    );
    allow(&file, 0o640);
    assert_eq!(warnings(serve()), [""; 0]);
}

#[test]
fn configuration_that_others_may_change_or_read_is_warned_of() {
    let directory = DataDirectory::new("open-configuration");
    fs::create_dir(directory.path()).unwrap();
    let file = directory.path().join("configured");
    fs::write(&file, "").unwrap();
    let path = file.to_str().unwrap();
    for (options, allowed, warned) in [
        (&["--verifiers", path][..], 0o644, 0o646),
        (
            &[
                "--otlp-endpoint",
                "http://127.0.0.1:1",
                "--otlp-headers-file",
                path,
            ],
            0o640,
            0o644,
        ),
    ] {
        let found = |mode| {
            allow(&file, mode);
            let arguments = [&["serve", "--listen=127.0.0.1:0"], options].concat();
            let found = warnings(Keyward::new(&arguments).data_directory(directory.path()));
            found
                .iter()
                .filter(|found| found.contains("configuration file"))
                .count()
        };
        assert_eq!((found(allowed), found(warned)), (0, 1), "{options:?}");
    }
}

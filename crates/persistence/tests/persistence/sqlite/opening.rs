//! Data directories as they should be, and as they should not.

use std::error::Error;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use keyward_persistence::sqlite::{OpenError, SqliteConfig, SqliteStore};

use crate::sqlite::child::{Running, part, say};
use crate::sqlite::fixture::{DataDirectory, long_timeouts, migrated_store};

fn refusal(directory: &Path) -> OpenError {
    match SqliteStore::open(SqliteConfig::in_directory(directory)) {
        Ok(_) => panic!("{} was opened", directory.display()),
        Err(error) => error,
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("a file").permissions().mode() & 0o777
}

#[tokio::test]
async fn created_files_are_readable_by_the_owner_only() {
    let directory = DataDirectory::new();
    let _store = migrated_store(directory.long_timeouts()).await;
    assert_eq!(mode(&directory.path()), 0o700);
    for file in ["keyward.db", "keyward.db-wal", "keyward.db-shm"] {
        assert_eq!(mode(&directory.path().join(file)), 0o600, "{file}");
    }
}

#[test]
fn data_directory_that_cannot_be_created_is_reported() {
    let directory = DataDirectory::new();
    fs::write(directory.path(), "a file").expect("a file");
    let error = refusal(&directory.path().join("below"));
    assert!(matches!(error, OpenError::Directory { .. }), "{error:?}");
    assert!(error.source().is_some());
}

#[test]
fn file_in_place_of_the_data_directory_is_reported() {
    let directory = DataDirectory::new();
    fs::write(directory.path(), "a file").expect("a file");
    let error = refusal(&directory.path());
    assert!(matches!(error, OpenError::NotADirectory { .. }), "{error:?}");
}

#[tokio::test]
async fn truncated_database_file_is_reported_and_unchanged() {
    let directory = DataDirectory::new();
    drop(migrated_store(directory.long_timeouts()).await);
    let whole = fs::read(directory.file()).expect("the file");
    fs::write(directory.file(), &whole[..6_000]).expect("a part of it");
    let error = refusal(&directory.path());
    assert!(matches!(error, OpenError::Damaged { .. }), "{error:?}");
    let left = fs::read(directory.file()).expect("the file");
    assert_eq!(left, whole[..6_000]);
}

#[test]
fn non_database_file_is_reported_and_unchanged() {
    let directory = DataDirectory::new();
    fs::create_dir(directory.path()).expect("a directory");
    let words = "Dear diary, ".repeat(100);
    fs::write(directory.file(), &words).expect("a file");
    let error = refusal(&directory.path());
    assert!(matches!(error, OpenError::NotADatabase { .. }), "{error:?}");
    assert_eq!(fs::read_to_string(directory.file()).expect("the file"), words);
}

#[test]
fn non_utf8_path_is_reported_and_nothing_created() {
    let directory = DataDirectory::new();
    let path = directory.path().join(OsStr::from_bytes(b"\xff"));
    let error = refusal(&path);
    assert!(matches!(error, OpenError::NotUtf8 { .. }), "{error:?}");
    assert!(!directory.path().exists());
}

#[test]
fn dangling_symbolic_link_is_reported_and_not_followed() {
    let directory = DataDirectory::new();
    fs::create_dir(directory.path()).expect("a directory");
    let target = directory.path().join("elsewhere.db");
    symlink(&target, directory.file()).expect("a link");
    let error = refusal(&directory.path());
    assert!(matches!(error, OpenError::File { .. }), "{error:?}");
    assert!(!target.exists());
}

/// SQLite deletes the log of a database that it finds missing or empty, and replays it into another one.
#[tokio::test]
async fn write_ahead_log_without_its_database_is_kept() {
    let directory = DataDirectory::new();
    let log = directory.path().join("keyward.db-wal");
    let store = migrated_store(directory.long_timeouts()).await;
    let changes = fs::read(&log).expect("the log");
    assert!(!changes.is_empty());
    drop(store);
    for is_empty in [false, true] {
        fs::remove_file(directory.file()).expect("the file");
        if is_empty {
            fs::write(directory.file(), "").expect("an empty file");
        }
        fs::write(&log, &changes).expect("a log");
        let error = refusal(&directory.path());
        assert!(matches!(error, OpenError::LogLeft { .. }), "{error:?}");
        assert_eq!(fs::read(&log).expect("the log"), changes);
        assert_eq!(directory.file().exists(), is_empty);
        fs::write(directory.file(), "").expect("a file for the next round");
    }
    fs::write(&log, "").expect("an empty log");
    drop(migrated_store(directory.long_timeouts()).await);
}

#[tokio::test]
async fn path_with_special_characters_is_used_literally() {
    let directory = DataDirectory::new();
    for name in [
        "a b",
        "what?mode=memory",
        "c#d",
        "%20",
        ":memory:",
        "file:x",
        "ключ🗝",
        "'\";--",
    ] {
        let path = directory.path().join(name);
        drop(migrated_store(long_timeouts(&path)).await);
        assert!(path.join("keyward.db").exists(), "{name}");
        assert_eq!(mode(&path), 0o700, "{name}");
    }
    let made = fs::read_dir(directory.path()).expect("what was made");
    assert_eq!(made.count(), 8);
}

#[test]
fn directory_in_place_of_the_database_file_is_reported() {
    let directory = DataDirectory::new();
    fs::create_dir_all(directory.file()).expect("a directory");
    let error = refusal(&directory.path());
    assert!(matches!(error, OpenError::NoAccess { .. }), "{error:?}");
}

#[tokio::test]
async fn read_only_file_or_directory_is_reported() {
    const TEST: &str = "sqlite::opening::read_only_file_or_directory_is_reported";
    if let Some(part) = part() {
        let error = refusal(&part.directory);
        assert!(
            matches!(
                error,
                OpenError::NoAccess { .. } | OpenError::File { .. } | OpenError::Directory { .. }
            ),
            "{error:?}"
        );
        say(error);
        return;
    }
    let directory = DataDirectory::new();
    let (folder, file) = (directory.path(), directory.file());
    drop(migrated_store(directory.long_timeouts()).await);
    // Permissions do not bind root, so the child runs as another user, who may not be able to reach this
    // executable.
    let nobody = (fs::metadata(&folder).expect("the directory").uid() == 0).then_some(65_534);
    let executable = folder.with_file_name("test");
    fs::copy(std::env::current_exe().expect("this executable"), &executable).expect("a copy");
    let set =
        |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).expect("permissions");
    set(&executable, 0o755);
    for (folder_mode, file_mode, recorded) in [
        (0o555, 0o666, "cannot be read and written: check who owns it"),
        (0o777, 0o444, "cannot be read and written: check who owns it"),
        (0o777, 0o000, "cannot be read and written: check who owns it"),
        (0o000, 0o666, "cannot be opened or created"),
    ] {
        set(&folder, folder_mode);
        if folder_mode != 0 {
            set(&file, file_mode);
        }
        let said = Running::start_as(&executable, nobody, TEST, &folder, 1)
            .end()
            .join("\n");
        assert!(said.contains(recorded), "{folder_mode:o} {file_mode:o}: {said}");
        set(&folder, 0o700);
    }
    // Without the file, a directory that may not be written.
    fs::remove_file(&file).expect("removed");
    set(&folder, 0o555);
    let said = Running::start_as(&executable, nobody, TEST, &folder, 1)
        .end()
        .join("\n");
    assert!(said.contains("keyward.db cannot be opened or created"), "{said}");
    set(&folder, 0o700);
}

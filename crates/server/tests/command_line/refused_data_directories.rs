//! Data directories that cannot be used, and stay as they are.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use crate::data_directory::DataDirectory;
use crate::keyward::Keyward;
use crate::needing_a_database::{NEEDING_A_DATABASE, acts_on_what_is_there, file, files, on_data_directory};

const CANNOT_USE: &str = "cannot use the data directory (choose another with --data-dir): ";
const DAMAGED: &str = "is damaged: move it, keyward.db-wal and keyward.db-shm away together, and put a backup in its \
                       place";
const MAY_NOT_USE: &str = "cannot use the data directory (run it as the user who owns the directory, or choose \
                           another with --data-dir): ";

#[test]
fn file_blocking_the_data_directory_fails_every_command() {
    let directory = DataDirectory::new("file-in-the-way");
    fs::create_dir(directory.path()).unwrap();
    let path = directory.path().join("file");
    fs::write(&path, "words").unwrap();
    for command in NEEDING_A_DATABASE {
        assert_eq!(
            on_data_directory(command, &path).run().refusal(),
            format!("{CANNOT_USE}{} is not a directory", path.display()),
            "{command:?}"
        );
        let below = path.join("below");
        assert_eq!(
            on_data_directory(command, &below).run().refusal(),
            format!(
                "{CANNOT_USE}{} cannot be created: Not a directory (os error 20)",
                below.display()
            ),
            "{command:?}"
        );
    }
    assert_eq!(files(directory.path()), [file("file", b"words")]);
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn unwritable_data_directory_fails_every_command() {
    let directory = DataDirectory::new("no-permission");
    fs::create_dir(directory.path()).unwrap();
    // Permissions do not bind root, so another user runs the command, who may not be able to reach the
    // executable.
    let is_root = fs::metadata(directory.path()).unwrap().uid() == 0;
    let executable = directory.path().join("keyward");
    fs::copy(env!("CARGO_BIN_EXE_keyward"), &executable).unwrap();
    set_mode(&executable, 0o755);
    let [empty, made, read_only] = ["empty", "made", "read-only"].map(|name| directory.path().join(name));
    fs::create_dir(&empty).unwrap();
    for existing in [&made, &read_only] {
        on_data_directory(&["migrate"], existing).run().success();
        set_mode(&existing.join("keyward.db"), 0o666);
    }
    set_mode(&made, 0o555);
    set_mode(&read_only.join("keyward.db"), 0o444);
    set_mode(&read_only, 0o777);
    set_mode(&empty, 0o555);
    set_mode(directory.path(), 0o555);
    let now = || {
        let mut all = [&empty, &made, &read_only]
            .map(|directory| files(directory))
            .concat();
        // SQLite's own: it makes them before it finds out that it may not write.
        all.retain(|file| !file.starts_with("keyward.db-"));
        all
    };
    let before = now();
    let not_writable = "cannot be read and written: check who owns it and its directory, who may write there, and whether \
                        its file system is read-only";
    for (place, expected) in [
        (
            &directory.path().join("new"),
            format!(
                "{} cannot be created: Permission denied (os error 13)",
                directory.path().join("new").display()
            ),
        ),
        (
            &empty,
            format!(
                "the database file {} cannot be opened or created: Permission denied (os error 13)",
                empty.join("keyward.db").display()
            ),
        ),
        (
            &made,
            format!(
                "the database file {} {not_writable}",
                made.join("keyward.db").display()
            ),
        ),
        (
            &read_only,
            format!(
                "the database file {} {not_writable}",
                read_only.join("keyward.db").display()
            ),
        ),
    ] {
        for command in NEEDING_A_DATABASE {
            let keyward = Keyward::copied_to(&executable, command).data_directory(place);
            let keyward = if is_root { keyward.user(65_534) } else { keyward };
            let answer = keyward.run();
            if acts_on_what_is_there(command) && !place.join("keyward.db").exists() {
                let expected = format!("there is no database in {}: ", place.display());
                assert!(answer.refusal().starts_with(&expected), "{command:?}: {answer:?}");
            } else {
                assert_eq!(
                    answer.refusal(),
                    format!("{MAY_NOT_USE}{expected}"),
                    "{command:?}"
                );
            }
        }
    }
    assert_eq!(now(), before);
    for place in [directory.path(), &empty, &made] {
        set_mode(place, 0o755);
    }
}

#[test]
fn damaged_or_non_database_file_is_reported_and_unchanged() {
    let whole = DataDirectory::new("whole");
    whole.run(&["migrate"], "").success();
    let whole = fs::read(whole.path().join("keyward.db")).unwrap();
    let mut overwritten = whole.clone();
    overwritten[4_096..].fill(b'x');
    let diary = "Dear diary, ".repeat(100).into_bytes();
    for (name, bytes, problem) in [
        ("diary", diary, "is not a SQLite database"),
        ("cut-short", whole[..6_000].to_vec(), DAMAGED),
        ("overwritten", overwritten, DAMAGED),
    ] {
        let directory = DataDirectory::new(name);
        fs::create_dir(directory.path()).unwrap();
        let path = directory.path().join("keyward.db");
        fs::write(&path, &bytes).unwrap();
        for command in NEEDING_A_DATABASE {
            let answer = on_data_directory(command, directory.path()).run();
            let expected = format!("{} {problem}", path.display());
            assert!(answer.refusal().ends_with(&expected), "{command:?}: {answer:?}");
        }
        assert_eq!(files(directory.path()), [file("keyward.db", &bytes)]);
    }
}

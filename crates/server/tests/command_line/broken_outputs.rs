//! Commands whose output or error stream cannot be written.

use std::fs::OpenOptions;
use std::process::{Command, Output, Stdio};

use crate::data_directory::DataDirectory;
use crate::needing_a_database::files;
use crate::place::Place;

/// Commands that answer on standard output.
const ANSWERING: [&[&str]; 5] = [
    &["openapi"],
    &["help"],
    &["--version"],
    &["admin", "revoke", "--help"],
    &["export"],
];

/// Commands that have nothing but a complaint.
const COMPLAINING: [&[&str]; 3] = [
    &["frobnicate"],
    &[
        "admin",
        "reset-password",
        "--username=nobody",
        "--generate-password",
    ],
    &["serve", "--listen=127.0.0.1:0", "--trusted-proxy=everybody"],
];

#[derive(Debug, Clone, Copy)]
enum Broken {
    Full,
    WithoutReader,
}

impl Broken {
    const ALL: [Self; 2] = [Self::Full, Self::WithoutReader];

    fn stream(self) -> Stdio {
        match self {
            Self::Full => OpenOptions::new().write(true).open("/dev/full").unwrap().into(),
            Self::WithoutReader => {
                let (reader, writer) = std::io::pipe().unwrap();
                drop(reader);
                writer.into()
            }
        }
    }
}

fn run(place: &Place, arguments: &[&str], stdout: Stdio, stderr: Stdio) -> Output {
    let mut command = place.keyward(arguments).into_command();
    command
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr)
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap()
}

#[test]
fn unwritable_standard_output_is_an_error_without_panic() {
    let place = Place::file("broken-standard-output");
    place.bootstrap();
    for broken in Broken::ALL {
        for arguments in ANSWERING {
            let ended = run(&place, arguments, broken.stream(), Stdio::piped());
            let errors = String::from_utf8(ended.stderr).unwrap();
            assert_eq!(ended.status.code(), Some(1), "{arguments:?} {broken:?}: {errors}");
            assert!(!errors.contains("panicked"), "{arguments:?} {broken:?}: {errors}");
        }
    }
}

#[test]
fn verifier_whose_secret_cannot_be_shown_is_not_created() {
    let place = Place::file("broken-verifier-secret");
    for broken in Broken::ALL {
        let ended = run(
            &place,
            &["verifier", "create", "orders"],
            Stdio::piped(),
            broken.stream(),
        );
        assert_eq!(
            (ended.status.code(), &*ended.stdout),
            (Some(1), &b""[..]),
            "{broken:?}"
        );
    }
}

#[test]
fn unwritable_standard_error_keeps_the_exit_code() {
    let place = Place::file("broken-standard-error");
    place.bootstrap();
    for arguments in COMPLAINING {
        let whole = run(&place, arguments, Stdio::null(), Stdio::null()).status.code();
        assert!(matches!(whole, Some(1..=2)), "{arguments:?}: {whole:?}");
        for broken in Broken::ALL {
            let ended = run(&place, arguments, Stdio::piped(), broken.stream());
            assert_eq!(ended.status.code(), whole, "{arguments:?} {broken:?}");
            assert_eq!(ended.stdout, b"", "{arguments:?} {broken:?}");
        }
    }
}

/// Rust opens `/dev/null` in place of a closed stream, to which everything can be written.
#[test]
fn closed_stream_is_refused_before_anything_is_changed() {
    let directory = DataDirectory::new("closed-streams");
    let place = Place::File(DataDirectory::at(directory.path().to_owned()));
    place.bootstrap();
    let before = files(directory.path());
    let new_user = ["admin", "create-user", "--username=bob", "--generate-password"];
    let reset = ["admin", "reset-password", "--username=ada", "--generate-password"];
    for (arguments, closed, stream) in [
        (&new_user[..], ">&-", "standard output"),
        (&reset, ">&-", "standard output"),
        (&["admin", "setup-link"], ">&-", "standard output"),
        (&["export"], ">&-", "standard output"),
        (&["verifier", "create", "x"], ">&-", "standard output"),
        (&["verifier", "create", "x"], "2>&-", "standard error"),
    ] {
        let command = place.keyward(arguments).into_command();
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec \"$@\" {closed}"), "sh"]);
        shell.arg(command.get_program()).args(arguments).env_clear();
        shell.env("KEYWARD_DATA_DIR", directory.path());
        let ended = shell.stdin(Stdio::null()).output().unwrap();
        assert_eq!(ended.status.code(), Some(1), "{arguments:?} {closed}");
        assert_eq!(ended.stdout, b"", "{arguments:?} {closed}");
        let expected = match stream {
            "standard error" => String::new(),
            stream => {
                format!(
                    "error: {stream} is closed or discarded, so nothing was done: redirect it to a file or a pipe\n"
                )
            }
        };
        assert_eq!(
            String::from_utf8(ended.stderr).unwrap(),
            expected,
            "{arguments:?}"
        );
    }
    assert_eq!(files(directory.path()), before);
    let discarded = run(&place, &reset, Stdio::null(), Stdio::piped());
    assert_eq!(discarded.status.code(), Some(0), "{discarded:?}");
}

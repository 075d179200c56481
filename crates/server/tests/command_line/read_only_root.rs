//! An embedded database where nothing but its own directory can be written, as in a container with a
//! read-only root.

use std::fs::{self, File};
use std::path::Path;
use std::time::SystemTime;

use tempfile::TempDir;

use crate::keyward::{Answer, Keyward};
use crate::setup::PASSWORD;

/// Makes everything read-only but the directory that it is given, and runs what follows.
const READ_ONLY_ROOT: &str = r#"
    mount --bind "$0" "$0" || exit
    for directory in / /tmp /var/tmp /usr/tmp /dev/shm; do
        if mountpoint -q "$directory"; then mount -o remount,bind,ro "$directory" || exit; fi
    done
    cd / || exit
    for directory in /tmp /var/tmp .; do
        if [ -w "$directory" ]; then exit 1; fi
    done
    exec "$@"
"#;

/// The only place that can be written, removed at the end.
struct Machine {
    place: TempDir,
    has_read_only_root: bool,
}

impl Machine {
    fn new() -> Self {
        let mut machine = Self {
            place: TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap(),
            has_read_only_root: true,
        };
        // A plain container does not allow mounts. There, the test only watches for temporary files
        // elsewhere.
        machine.has_read_only_root = machine.run(&["true"], &[], "").code == Some(0);
        machine
    }

    fn run(&self, command: &[&str], variables: &[(&str, &Path)], input: &str) -> Answer {
        let mut line = Vec::new();
        if self.has_read_only_root {
            line.extend(["unshare", "--mount", "--propagation=private"]);
            if !rustix::process::geteuid().is_root() {
                line.push("--map-root-user");
            }
            line.extend(["sh", "-c", READ_ONLY_ROOT, self.place.path().to_str().unwrap()]);
        }
        line.extend(command);
        let keyward = Keyward::copied_to(line[0], &line[1..])
            .variable("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .input(input);
        let with =
            |keyward: Keyward, (name, path): &(&str, &Path)| keyward.variable(name, path.to_str().unwrap());
        variables.iter().fold(keyward, with).run()
    }
}

#[test]
fn database_is_created_and_transferred_on_a_read_only_root() {
    let machine = Machine::new();
    // The directory in which SQLite puts temporary files by default. The time of its last change shows
    // whether there were any.
    let elsewhere = machine.place.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let directory = File::open(&elsewhere).unwrap();
    directory.set_modified(SystemTime::UNIX_EPOCH).unwrap();

    let keyward = |data: &str, arguments: &[&str], input: &str| {
        let command = [&[env!("CARGO_BIN_EXE_keyward")], arguments].concat();
        let variables = [
            ("KEYWARD_DATA_DIR", &*machine.place.path().join(data)),
            ("SQLITE_TMPDIR", &*elsewhere),
        ];
        machine.run(&command, &variables, input).success()
    };
    let bootstrap = [
        "admin",
        "bootstrap",
        "--organization=Acme",
        "--username=ada",
        "--password-stdin",
    ];
    keyward("old", &bootstrap, PASSWORD);
    let export = keyward("old", &["export"], "");
    keyward("new", &["import"], &export);
    assert_eq!(keyward("new", &["export"], ""), export);
    assert_eq!(
        directory.metadata().unwrap().modified().unwrap(),
        SystemTime::UNIX_EPOCH
    );
}

//! A disk so small that a test can fill it.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::statvfs;

/// Names the small disk to the process that runs the test on it.
const SMALL_DISK: &str = "KEYWARD_TEST_SMALL_DISK";

/// The maximum size of a small /dev/shm: containers have 64 MiB.
const LARGEST: u64 = 256 * 1024 * 1024;

/// Runs the test of this name once more, in a process that has a disk of 40 MiB of its own. If mounts are not
/// allowed, as in a plain container, the container's shared memory is the small disk.
pub(crate) fn on_a_small_disk(name: &str, test: impl FnOnce(&Path)) {
    if let Some(disk) = std::env::var_os(SMALL_DISK) {
        return test(Path::new(&disk));
    }
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("small-disk-{}", std::process::id()));
    fs::create_dir_all(&place).unwrap();
    let can_mount = mounting(&place).arg("true").output();
    if can_mount.is_ok_and(|mounted| mounted.status.success()) {
        let again = mounting(&place)
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(SMALL_DISK, &place)
            .status();
        fs::remove_dir(&place).unwrap();
        assert!(again.unwrap().success(), "on a small disk");
    } else {
        fs::remove_dir(&place).unwrap();
        in_shared_memory(test);
    }
}

/// Runs the following command in a namespace with a small disk, which ends with it.
fn mounting(place: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation=private"]);
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    let script = "mount -t tmpfs -o size=40m tmpfs \"$0\" && exec \"$@\"";
    command.args(["sh", "-c", script]).arg(place);
    command
}

fn in_shared_memory(test: impl FnOnce(&Path)) {
    let shared = statvfs("/dev/shm").unwrap();
    assert!(
        shared.f_blocks * shared.f_frsize <= LARGEST,
        "this test needs a small disk: `unshare --mount` and `mount`, or a /dev/shm of at most 256 MiB"
    );
    let disk = PathBuf::from(format!("/dev/shm/keyward-{}", std::process::id()));
    fs::create_dir(&disk).unwrap();
    let _removed = RemovedAtTheEnd(&disk);
    test(&disk);
}

/// Also if the test fails, because all processes share this memory.
struct RemovedAtTheEnd<'a>(&'a Path);

impl Drop for RemovedAtTheEnd<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.0);
    }
}

/// Takes all room that is left, to the last byte.
pub(crate) fn fill(ballast: &Path) {
    let mut file = File::options().create(true).append(true).open(ballast).unwrap();
    for size in [1024 * 1024, 4096, 1] {
        while file.write_all(&vec![1; size]).is_ok() {}
    }
}

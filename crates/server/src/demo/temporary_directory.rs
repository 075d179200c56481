//! The directory of one demo.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use keyward_domain::random::Random;
use tracing::warn;

/// A new directory that other users cannot read, removed with this value.
pub(super) struct TemporaryDirectory(PathBuf);

impl TemporaryDirectory {
    /// Creates it in the system's temporary directory, under a random name that others cannot have taken
    /// before.
    pub(super) fn create(random: &dyn Random) -> io::Result<Self> {
        let mut number = [0; 8];
        random.fill(&mut number);
        let name = format!("keyward-demo-{:016x}", u64::from_le_bytes(number));
        let path = std::env::temp_dir().join(name);
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

/// A directory that cannot be removed is only reported: it holds made-up data, and other users cannot read
/// it.
pub(super) fn remove(directory: &Path) {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            warn!(directory = %directory.display(), %error, "cannot remove the demo's directory");
        }
        Ok(()) | Err(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::random::OsRandom;

    #[test]
    fn temporary_directory_is_unique_private_and_removed_with_contents() {
        let one = TemporaryDirectory::create(&OsRandom).unwrap();
        let other = TemporaryDirectory::create(&OsRandom).unwrap();
        assert_ne!(one.path(), other.path());
        let mode = fs::metadata(one.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let path = one.path().to_owned();
        fs::write(path.join("keyward.db"), "something").unwrap();
        drop(one);
        assert!(!path.exists());
        assert!(other.path().exists());
    }
}

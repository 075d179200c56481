//! The files and directories that are made, and who owns them.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

/// Makes the directory, accessible to its owner only, if it does not exist; its path without links.
pub(super) fn make_directory(directory: &Path) -> io::Result<PathBuf> {
    let directory = std::path::absolute(directory)?;
    let missing: Vec<&Path> = directory.ancestors().take_while(|path| !path.exists()).collect();
    DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
    // A power cut would lose a new directory whose entry is not synced.
    for parent in missing.into_iter().filter_map(Path::parent) {
        File::open(parent)?.sync_all()?;
    }
    fs::canonicalize(directory)
}

/// Makes an empty database, if there is no file. It belongs to the directory's owner, and so do the files that
/// SQLite makes beside it.
pub(super) fn make_database_file(directory: &Path, file: &Path) -> io::Result<()> {
    let made = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file);
    match made {
        Ok(made) => {
            give_to_owner_of(directory, &made)?;
            // SQLite syncs the file, but not its directory entry.
            File::open(directory)?.sync_all()
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Gives a file to the owner of the file or directory at the path. When root creates a file in the data
/// directory, the server's user could not use it otherwise. A file that has another name, too, is not
/// changed: that user may have made a hard link to another user's file. The file must have been opened
/// without following a link.
///
/// # Errors
/// The owner of one of them cannot be read. Users other than root cannot change the owner, which is no error.
pub fn give_to_owner_of(path: &Path, file: &File) -> io::Result<()> {
    let (owner, ours) = (fs::metadata(path)?, file.metadata()?);
    if ours.nlink() == 1 && (ours.uid(), ours.gid()) != (owner.uid(), owner.gid()) {
        let _ = fchown(file, Some(owner.uid()), Some(owner.gid()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, chown};
    use std::time::Duration;

    use tempfile::TempDir;

    use crate::sqlite::database_file::DatabaseFile;

    /// A user that no process of the tests runs as.
    const OWNER: u32 = 60_001;

    #[test]
    fn new_database_belongs_to_the_directorys_owner() {
        let directory = TempDir::new().unwrap();
        let directory = directory.path();
        if rustix::process::geteuid().is_root() {
            chown(directory, Some(OWNER), Some(OWNER)).unwrap();
        }
        let expected = fs::metadata(directory).unwrap().uid();
        let (_file, _connection) = DatabaseFile::open(directory, Duration::from_secs(1), 1024).unwrap();
        for made in fs::read_dir(directory).unwrap() {
            let made = made.unwrap();
            assert_eq!(made.metadata().unwrap().uid(), expected, "{made:?}");
        }
    }
}

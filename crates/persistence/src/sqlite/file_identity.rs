//! Which file a path leads to.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A file on this machine, whatever its name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    /// Of the file that is at a path now. It does not open the file: closing it would drop SQLite's locks (fcntl(2)).
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        let metadata = path.metadata()?;
        Ok(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        })
    }
}

//! The identity of the file behind a path.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Identifies a file on this machine independently of its name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    /// The identity of the file at a path now. Does not open the file, since closing it would release
    /// SQLite's locks (fcntl(2)).
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        Ok(Self::of(&path.metadata()?))
    }

    pub(super) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }
}

//! A directory of a test's own.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// A new directory, removed at the end.
pub(in crate::sqlite) struct TemporaryDirectory(PathBuf);

impl TemporaryDirectory {
    pub(in crate::sqlite) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("keyward-sqlite-unit-{}-{number}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        fs::create_dir(&directory).unwrap();
        Self(directory)
    }

    pub(in crate::sqlite) fn path(&self) -> PathBuf {
        self.0.clone()
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

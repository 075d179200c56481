//! The data directory of the embedded database, which one server at a time may serve.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use keyward_persistence::sqlite::{SqliteConfig, give_to_owner_of};
use rustix::fs::OFlags;

/// The default directory of the embedded database, below the current directory of the command.
const DEFAULT: &str = "keyward-data";
/// The variable that names another directory.
pub(crate) const VARIABLE: &str = "KEYWARD_DATA_DIR";
const LOCK_FILE: &str = "serve.lock";
/// Longer than a command holds the lock to look whether a server runs.
const LOCK_CHECK_PAUSE: Duration = Duration::from_millis(50);

/// Why a data directory cannot be served.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DataDirectoryError {
    #[error(
        "the data directory {} is in use by another keyward command or server: stop it or wait until it ends, or choose \
         another directory with --data-dir",
        .0.display()
    )]
    Locked(PathBuf),
    #[error(
        "the database {} is missing, but a keyward command or server that uses it still runs (it holds {}): put the file \
         back, or stop that process before you make a new database",
        .file.display(),
        .lock.display()
    )]
    MissingInUse { file: PathBuf, lock: PathBuf },
    #[error("the file {} cannot be locked (check who owns it, and who may write there)", .file.display())]
    Lock { file: PathBuf, source: io::Error },
}

/// The data directory that a variable names, if it does.
pub(crate) fn from_variable(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    variable(VARIABLE)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// The data directory that the variable names, or the default.
pub(crate) fn from_variable_or_default(variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
    from_variable(variable).unwrap_or_else(|| DEFAULT.into())
}

/// A lock that allows one process to serve a data directory. Released when this is dropped or the process
/// ends. Of the commands, only `keyward import` needs it; the others may run while the database is served.
pub(crate) struct DataDirectoryLock {
    _lock: File,
}

impl DataDirectoryLock {
    /// Acquires the lock, if no other process holds it.
    pub(crate) fn take(data_directory: &Path) -> Result<Self, DataDirectoryError> {
        let file = data_directory.join(LOCK_FILE);
        let cannot_lock = |source| DataDirectoryError::Lock {
            file: file.clone(),
            source,
        };
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            // Root may run a command here, so a link that another user put here must not be followed.
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(&file)
            .map_err(cannot_lock)?;
        give_to_owner(&lock, data_directory).map_err(cannot_lock)?;
        // A command that looks whether a server runs holds the lock for a moment.
        let locked = lock.try_lock().or_else(|_| {
            sleep(LOCK_CHECK_PAUSE);
            lock.try_lock()
        });
        match locked {
            Ok(()) => Ok(Self { _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(DataDirectoryError::Locked(data_directory.to_owned())),
            Err(TryLockError::Error(source)) => Err(cannot_lock(source)),
        }
    }

    /// Refuses to create a database while another process holds the lock: that process has one open whose
    /// file was moved or removed. Call it before the database is created.
    pub(crate) fn refuse_missing_in_use(config: &SqliteConfig) -> Result<(), DataDirectoryError> {
        let is_missing = || matches!(config.file().try_exists(), Ok(false));
        let path = config.data_directory.join(LOCK_FILE);
        let options = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let is_held = || {
            // A directory that cannot be opened is reported when the database is created.
            let lock = OpenOptions::new().read(true).custom_flags(options).open(&path);
            lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
        };
        // Once more after a while, in which a server that started just now has made its database.
        if is_missing() && is_held() {
            sleep(LOCK_CHECK_PAUSE);
            if is_missing() && is_held() {
                let (file, lock) = (config.file(), path);
                return Err(DataDirectoryError::MissingInUse { file, lock });
            }
        }
        Ok(())
    }
}

/// The lock file belongs to the owner of the database, or of the directory if there is none.
fn give_to_owner(lock: &File, data_directory: &Path) -> io::Result<()> {
    let database = SqliteConfig::in_directory(data_directory).file();
    give_to_owner_of(&database, lock).or_else(|_| give_to_owner_of(data_directory, lock))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, chown};

    use tempfile::TempDir;

    use super::{DataDirectoryLock, LOCK_FILE, SqliteConfig};

    /// Users that no process of the tests runs as.
    const OF_DIRECTORY: u32 = 60_001;
    const OF_DATABASE: u32 = 60_002;

    #[test]
    fn lock_file_made_by_root_belongs_to_the_databases_owner() {
        let directory = TempDir::new().unwrap();
        let database = SqliteConfig::in_directory(directory.path()).file();
        let lock_file = directory.path().join(LOCK_FILE);
        let is_root = rustix::process::geteuid().is_root();
        let own = fs::metadata(directory.path()).unwrap().uid();
        let of_others = if is_root {
            [OF_DIRECTORY, OF_DATABASE]
        } else {
            [own; 2]
        };
        chown(directory.path(), Some(of_others[0]), None).unwrap();
        drop(DataDirectoryLock::take(directory.path()).unwrap());
        assert_eq!(fs::metadata(&lock_file).unwrap().uid(), of_others[0]);

        fs::write(&database, "").unwrap();
        chown(&database, Some(of_others[1]), None).unwrap();
        drop(DataDirectoryLock::take(directory.path()).unwrap());
        let lock_file = fs::metadata(&lock_file).unwrap();
        assert_eq!((lock_file.uid(), lock_file.mode() & 0o777), (of_others[1], 0o600));
    }

    #[test]
    fn file_linked_as_lock_file_keeps_its_owner() {
        let directory = TempDir::new().unwrap();
        let elsewhere = directory.path().join("elsewhere");
        fs::write(&elsewhere, "").unwrap();
        let own = fs::metadata(&elsewhere).unwrap().uid();
        fs::hard_link(&elsewhere, directory.path().join(LOCK_FILE)).unwrap();
        if rustix::process::geteuid().is_root() {
            chown(directory.path(), Some(OF_DIRECTORY), None).unwrap();
        }
        drop(DataDirectoryLock::take(directory.path()).unwrap());
        assert_eq!(fs::metadata(&elsewhere).unwrap().uid(), own);
    }
}

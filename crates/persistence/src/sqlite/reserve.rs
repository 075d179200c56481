//! Disk space reserved for revocations.
//!
//! A file beside the database holds allocated blocks. When a revocation finds the disk full, some of them are
//! freed and the revocation is retried, so a full disk does not prevent revocations. Until the file has its
//! full size again, other changes are refused, because they would use up the freed space.
//!
//! Other programs may take the freed space, so it is freed in parts, on demand.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use keyward_domain::ports::StorageError;
use rustix::fs::{FallocateFlags, OFlags, StatVfs, fallocate, statvfs};
use rustix::io::{Errno, retry_on_intr};

use super::new_files::give_to_owner_of;
use crate::claim::Claim;

const FILE_NAME: &str = "keyward.reserve";

/// Root may run a command in a directory of the server's user, who must not be able to lead it elsewhere.
const NO_SYMLINK: i32 = OFlags::NOFOLLOW.bits().cast_signed();

/// The size of each freed part: more than most changes write. The same amount stays free when the file is
/// refilled.
const PART: u64 = 1024 * 1024;

/// Why most changes are refused.
#[derive(Debug, thiserror::Error)]
#[error(
    "until {} has {} MiB again, keys can be revoked and people can sign in, and all other changes are refused: make room \
     on its disk",
    .file.display(), .size / PART
)]
pub(crate) struct NotWhole {
    file: PathBuf,
    size: u64,
    /// Why the reserve could not be refilled, if that was just tried.
    source: Option<io::Error>,
}

/// The reserve file. Other processes may shrink and refill it concurrently.
pub(super) struct Reserve {
    file: PathBuf,
    database: PathBuf,
    size: u64,
}

impl Reserve {
    pub(super) fn beside(database: &Path, size: u64) -> Self {
        Self {
            file: database.with_file_name(FILE_NAME),
            database: database.to_owned(),
            size,
        }
    }

    /// Whether a change with this claim may begin.
    pub(super) fn admit(&self, claim: Claim) -> Result<(), StorageError> {
        let is_whole = || fs::metadata(&self.file).is_ok_and(|file| file.len() >= self.size);
        if claim != Claim::Nothing || self.size == 0 || is_whole() {
            Ok(())
        } else {
            Err(self.not_whole(None))
        }
    }

    /// Refills the reserve, if one part stays free on the disk; an error if not, even if the reserve has its
    /// full size.
    pub(super) fn fill(&self) -> Result<(), StorageError> {
        self.try_to_fill().map_err(|error| self.not_filled(error))
    }

    /// If the process has too many open files, the error does not concern the disk.
    fn not_filled(&self, error: io::Error) -> StorageError {
        match Errno::from_io_error(&error) {
            Some(Errno::MFILE | Errno::NFILE) => StorageError::Unavailable(error.into()),
            _ => self.not_whole(Some(error)),
        }
    }

    /// Frees one part; returns whether there was one to free.
    pub(super) fn release(&self, claim: Claim) -> bool {
        let keep = match claim {
            Claim::Nothing => return false,
            Claim::StrangersSigningIn | Claim::SigningIn => self.size / 2,
            Claim::Revoking => 0,
        };
        self.shrink(keep).unwrap_or(false)
    }

    /// Whether SQLite failed to write one of its files because the disk is full.
    pub(super) fn has_full_disk(&self) -> bool {
        let available = |disk: StatVfs| disk.f_bavail.saturating_mul(disk.f_frsize);
        statvfs(&self.database).is_ok_and(|disk| available(disk) < PART)
    }

    fn try_to_fill(&self) -> io::Result<()> {
        if self.size == 0 {
            return Ok(());
        }
        let file = self.open_or_make()?;
        // Released when the file is closed.
        file.lock()?;
        let held = file.metadata()?.len();
        let with_rest = self.size + PART;
        // Not tried if it cannot succeed: it would briefly take the last free space from others. `f_bfree`
        // includes the blocks that only root may use.
        let disk = statvfs(&self.file)?;
        if disk.f_bfree.saturating_mul(disk.f_frsize) < with_rest.saturating_sub(held) {
            return Err(Errno::NOSPC.into());
        }
        let allocated = allocate(&file, held, with_rest);
        file.set_len(if allocated.is_ok() {
            self.size
        } else {
            held.min(self.size)
        })?;
        allocated
    }

    fn open_or_make(&self) -> io::Result<File> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(NO_SYMLINK)
            .open(&self.file)?;
        give_to_owner_of(&self.database, &file)?;
        Ok(file)
    }

    fn shrink(&self, keep: u64) -> io::Result<bool> {
        let file = File::options()
            .write(true)
            .custom_flags(NO_SYMLINK)
            .open(&self.file)?;
        file.lock()?;
        let held = file.metadata()?.len();
        if held <= keep {
            return Ok(false);
        }
        file.set_len(held.saturating_sub(PART).max(keep))?;
        // Some file systems reuse freed blocks only after the truncation is synced.
        file.sync_all()?;
        Ok(true)
    }

    fn not_whole(&self, source: Option<io::Error>) -> StorageError {
        let not_whole = NotWhole {
            file: self.file.clone(),
            size: self.size,
            source,
        };
        StorageError::Unavailable(not_whole.into())
    }
}

/// Whether the error means that the reserve does not have its full size.
pub(super) fn is_not_whole(error: &StorageError) -> bool {
    matches!(error, StorageError::Unavailable(source) if source.is::<NotWhole>())
}

/// Grows the file to `size` bytes, all of them allocated on disk.
fn allocate(mut file: &File, held: u64, size: u64) -> io::Result<()> {
    match retry_on_intr(|| fallocate(file, FallocateFlags::empty(), 0, size)) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
            file.seek(SeekFrom::Start(held))?;
            let missing = size.saturating_sub(held);
            io::copy(&mut io::repeat(0).take(missing), &mut file).map(drop)
        }
        allocated => Ok(allocated?),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, chown, symlink};
    use std::thread;

    use tempfile::TempDir;

    use super::{Claim, Errno, FILE_NAME, PART, Reserve, is_not_whole};

    /// A reserve of full size, beside a placeholder for the database.
    fn reserve(directory: &TempDir, parts: u64) -> Reserve {
        let database = directory.path().join("keyward.db");
        fs::write(&database, "").unwrap();
        let reserve = Reserve::beside(&database, parts * PART);
        reserve.fill().unwrap();
        reserve
    }

    fn parts_held(reserve: &Reserve) -> u64 {
        fs::metadata(&reserve.file).unwrap().len() / PART
    }

    #[test]
    fn reserve_allocates_real_blocks_readable_by_the_owner_only() {
        let directory = TempDir::new().unwrap();
        let reserve = reserve(&directory, 4);
        let file = fs::metadata(&reserve.file).unwrap();
        assert_eq!(file.len(), 4 * PART);
        assert!(file.blocks() * 512 >= 4 * PART, "{} blocks", file.blocks());
        assert_eq!(file.mode() & 0o777, 0o600);
    }

    #[test]
    fn symlink_in_the_reserves_place_is_not_followed() {
        let directory = TempDir::new().unwrap();
        let (database, elsewhere) = (
            directory.path().join("keyward.db"),
            directory.path().join("elsewhere"),
        );
        fs::write(&database, "").unwrap();
        fs::write(&elsewhere, "kept").unwrap();
        symlink(&elsewhere, directory.path().join(FILE_NAME)).unwrap();
        let reserve = Reserve::beside(&database, 4 * PART);
        assert!(reserve.fill().is_err());
        assert!(!reserve.release(Claim::Revoking));
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "kept");
    }

    #[test]
    fn file_linked_as_reserve_keeps_its_owner() {
        let directory = TempDir::new().unwrap();
        let [database, elsewhere] = ["keyward.db", "elsewhere"].map(|name| directory.path().join(name));
        fs::write(&database, "").unwrap();
        fs::write(&elsewhere, "").unwrap();
        let own = fs::metadata(&elsewhere).unwrap().uid();
        if rustix::process::geteuid().is_root() {
            chown(&database, Some(60_001), None).unwrap();
        }
        fs::hard_link(&elsewhere, directory.path().join(FILE_NAME)).unwrap();
        Reserve::beside(&database, PART).fill().unwrap();
        assert_eq!(fs::metadata(&elsewhere).unwrap().uid(), own);
    }

    #[test]
    fn sign_in_leaves_half_of_the_reserve_to_revocations() {
        let directory = TempDir::new().unwrap();
        let reserve = reserve(&directory, 4);
        assert!(!reserve.release(Claim::Nothing));
        let by_signing_in = [(); 3].map(|()| reserve.release(Claim::SigningIn));
        assert_eq!((by_signing_in, parts_held(&reserve)), ([true, true, false], 2));
        let by_revoking = [(); 3].map(|()| reserve.release(Claim::Revoking));
        assert_eq!((by_revoking, parts_held(&reserve)), ([true, true, false], 0));
    }

    #[test]
    fn changes_without_reserve_access_wait_until_it_is_full() {
        let directory = TempDir::new().unwrap();
        let reserve = reserve(&directory, 2);
        reserve.admit(Claim::Nothing).unwrap();
        assert!(reserve.release(Claim::Revoking));
        assert!(reserve.admit(Claim::Nothing).is_err());
        reserve.admit(Claim::SigningIn).unwrap();
        reserve.admit(Claim::Revoking).unwrap();
        reserve.fill().unwrap();
        reserve.admit(Claim::Nothing).unwrap();
        assert_eq!(parts_held(&reserve), 2);
    }

    #[test]
    fn reserve_larger_than_the_disk_allocates_nothing() {
        let directory = TempDir::new().unwrap();
        let database = directory.path().join("keyward.db");
        fs::write(&database, "").unwrap();
        let reserve = Reserve::beside(&database, u64::MAX / 4);
        assert!(reserve.fill().is_err());
        assert_eq!(parts_held(&reserve), 0);
        assert!(reserve.admit(Claim::Nothing).is_err());
    }

    #[test]
    fn lack_of_open_files_is_no_full_disk() {
        let directory = TempDir::new().unwrap();
        let reserve = reserve(&directory, 1);
        for (errno, is_about_the_disk) in [(Errno::MFILE, false), (Errno::NFILE, false), (Errno::NOSPC, true)]
        {
            let error = reserve.not_filled(errno.into());
            assert_eq!(is_not_whole(&error), is_about_the_disk, "{error:?}");
        }
    }

    #[test]
    fn concurrent_releases_by_processes_each_free_a_part() {
        let directory = TempDir::new().unwrap();
        let reserve = reserve(&directory, 16);
        let database = &reserve.database;
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let another = Reserve::beside(database, 16 * PART);
                    for _ in 0..3 {
                        assert!(another.release(Claim::Revoking));
                    }
                });
            }
        });
        assert_eq!(parts_held(&reserve), 4);
    }
}

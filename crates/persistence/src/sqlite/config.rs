//! What a store needs to know before it opens its file.

use std::path::PathBuf;
use std::time::Duration;

use super::database_file::FILE_NAME;

/// Where the database is, and how patient to be with it.
#[derive(Clone, Debug)]
pub struct SqliteConfig {
    /// The folder that holds `keyward.db` and the files that SQLite puts beside it. It must be on a local disk.
    pub data_directory: PathBuf,
    /// The most reads at once, and twice as many that take long beside them; 4 unless changed. Changes always come one
    /// after the other.
    pub max_readers: usize,
    /// How many bytes of the disk are kept for revoking keys and signing in, in a file beside the database; 16 MiB unless
    /// changed. Until there is room for them, other changes are refused.
    pub reserve: u64,
    /// The longest that another process's change is waited for; 1.5 s unless changed.
    pub busy_timeout: Duration,
    /// The longest until a read is answered, or a change begins to commit; then it is given up, and changes nothing;
    /// 1.9 s unless changed.
    pub answer_timeout: Duration,
    /// The longest until a change that began to commit is answered; then nobody knows; 8 s unless changed.
    pub outcome_timeout: Duration,
}

impl SqliteConfig {
    /// The database in this folder, which need not exist yet.
    #[must_use]
    pub fn in_directory(data_directory: impl Into<PathBuf>) -> Self {
        Self {
            data_directory: data_directory.into(),
            max_readers: 4,
            reserve: 16 * 1024 * 1024,
            busy_timeout: Duration::from_millis(1_500),
            answer_timeout: Duration::from_millis(1_900),
            outcome_timeout: Duration::from_secs(8),
        }
    }

    /// Where the database is, or will be made by [`SqliteStore::open`](super::SqliteStore::open).
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.data_directory.join(FILE_NAME)
    }
}

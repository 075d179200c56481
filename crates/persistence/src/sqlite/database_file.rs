//! The database file: how it is created, and how its connections are configured.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::prelude::{QueryableByName, RunQueryDsl, SqliteConnection};
use diesel::result::Error as QueryError;
use diesel::sql_types::Text;
use diesel::{Connection, ConnectionError, QueryResult};
use keyward_domain::ports::StorageError;
use parking_lot::Mutex;

use super::errors::{
    CANNOT_OPEN, is_busy, is_damaged, is_full, is_io, is_not_a_database, lacks_access, storage_error,
};
use super::file_identity::FileIdentity;
use super::left_log::refuse_left_log;
use super::moved::Moved;
use super::new_files::{make_database_file, make_directory};
use super::not_cancelled;
use super::open_error::OpenError;
use super::reserve::Reserve;
use super::write_ahead_log::WriteAheadLog;
use crate::claim::Claim;

pub(super) const FILE_NAME: &str = "keyward.db";
/// The size to which the write-ahead log is truncated after a checkpoint. One long read or one import lets
/// the log grow, and SQLite would never shrink it.
const MAX_EMPTY_LOG_BYTES: u64 = 16 * 1024 * 1024;
/// How long to wait for other processes that open the same new file.
const WAIT_FOR_OTHER_PROCESS: Duration = Duration::from_secs(10);

/// A database file that exists and was opened successfully once.
pub(super) struct DatabaseFile {
    /// Absolute, so that SQLite does not parse it as a URI, and independent of the working directory.
    path: String,
    identity: FileIdentity,
    /// Once the file was prepared.
    log: OnceLock<WriteAheadLog>,
    busy_timeout: Duration,
    pub(super) reserve: Reserve,
    is_damaged: AtomicBool,
}

/// The use of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    /// Imports and migrations, which write and sort whole tables.
    Rebuild,
}

#[derive(QueryableByName)]
struct JournalMode {
    #[diesel(sql_type = Text)]
    journal_mode: String,
}

impl DatabaseFile {
    /// Creates the directory (accessible to its owner only) and the file, if they do not exist, and checks
    /// that the file is writable.
    pub(super) fn open(
        directory: &Path,
        busy_timeout: Duration,
        reserve: u64,
    ) -> Result<(Self, SqliteConnection), OpenError> {
        // Closing a file releases all locks that the process holds on it, including those of SQLite's
        // connections (fcntl(2)). So no connection may be open to a file that is being created.
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _lock = ONE_AT_A_TIME.lock();

        // Checked now, before anything is created, and again below, after links are resolved.
        if directory.to_str().is_none() {
            return Err(OpenError::NotUtf8 {
                directory: directory.to_owned(),
            });
        }
        let directory = make_directory(directory).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => OpenError::NotADirectory {
                path: directory.to_owned(),
            },
            _ => OpenError::Directory {
                directory: directory.to_owned(),
                source,
            },
        })?;
        let file = directory.join(FILE_NAME);
        refuse_left_log(&file)?;
        let identity = make_database_file(&directory, &file)
            .and_then(|()| FileIdentity::at(&file))
            .map_err(|source| OpenError::File {
                file: file.clone(),
                source,
            })?;
        let Some(path) = file.to_str() else {
            return Err(OpenError::NotUtf8 { directory });
        };
        let database = Self {
            path: path.to_owned(),
            identity,
            log: OnceLock::new(),
            busy_timeout,
            reserve: Reserve::beside(&file, reserve),
            is_damaged: AtomicBool::new(false),
        };
        match database.prepare_with_reserve() {
            Ok(Some(connection)) => {
                // If the disk has no space for it, refused changes report that.
                let _ = database.reserve.fill();
                Ok((database, connection))
            }
            Ok(None) => Err(OpenError::NoWriteAheadLog { file }),
            Err(ConnectError::Query(error)) if lacks_access(&error) => Err(OpenError::NoAccess { file }),
            Err(ConnectError::Connection(ConnectionError::BadConnection(words))) if words == CANNOT_OPEN => {
                Err(OpenError::NoAccess { file })
            }
            Err(ConnectError::Query(error)) if is_not_a_database(&error) => {
                Err(OpenError::NotADatabase { file })
            }
            Err(ConnectError::Query(error)) if is_damaged(&error) => Err(OpenError::Damaged { file }),
            Err(ConnectError::Query(error)) => Err(OpenError::Database {
                file,
                source: error.into(),
            }),
            Err(ConnectError::Connection(error)) => Err(OpenError::Database {
                file,
                source: error.into(),
            }),
        }
    }

    /// Also works on a full disk, by freeing part of the reserve: the command may be a revocation, and SQLite
    /// creates files beside the database.
    fn prepare_with_reserve(&self) -> Result<Option<SqliteConnection>, ConnectError> {
        loop {
            match self.prepare() {
                Err(ConnectError::Query(error))
                    if self.lacks_room(&error) && self.reserve.release(Claim::Revoking) => {}
                prepared => return prepared,
            }
        }
    }

    /// Whether a statement failed because the disk is full.
    pub(super) fn lacks_room(&self, error: &QueryError) -> bool {
        is_full(error) || (is_io(error) && self.reserve.has_full_disk())
    }

    /// Switches the file permanently to the write-ahead log; `None` if that is not possible. Also begins a
    /// write, to check now that the file is writable.
    fn prepare(&self) -> Result<Option<SqliteConnection>, ConnectError> {
        let mut connection = self.try_connect(Access::Write, self.busy_timeout)?;
        let deadline = Instant::now() + WAIT_FOR_OTHER_PROCESS;
        let mode = loop {
            match switch_to_write_ahead_log(&mut connection) {
                // SQLite skips `busy_timeout` where two connections would deadlock: one of them must retry.
                Err(error) if is_busy(&error) && Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                other => break other?,
            }
        };
        if mode != "wal" {
            return Ok(None);
        }
        // BEGIN IMMEDIATE alone also succeeds on a read-only file.
        match connection.batch_execute("BEGIN IMMEDIATE; PRAGMA user_version = 0; ROLLBACK") {
            Err(error) if !is_busy(&error) => Err(error.into()),
            Ok(()) | Err(_) => {
                self.keep_log()?;
                Ok(Some(connection))
            }
        }
    }

    /// Opens the write-ahead log, and keeps it open.
    fn keep_log(&self) -> Result<(), ConnectError> {
        let mut connection = self.try_connect(Access::Read, self.busy_timeout)?;
        // The first read opens the log.
        connection.batch_execute("PRAGMA user_version")?;
        let _ = self.log.set(WriteAheadLog::of(Path::new(&self.path), connection));
        Ok(())
    }

    pub(super) fn connect(&self, access: Access) -> Result<SqliteConnection, StorageError> {
        self.connect_with_wait(access, self.busy_timeout)
    }

    pub(super) fn connect_with_wait(
        &self,
        access: Access,
        busy_timeout: Duration,
    ) -> Result<SqliteConnection, StorageError> {
        // SQLite would create an empty file.
        self.check_in_place()?;
        self.check_log_in_place()?;
        self.try_connect(access, busy_timeout)
            .map_err(|error| match error {
                ConnectError::Connection(error) => StorageError::Unavailable(error.into()),
                ConnectError::Query(error) => {
                    self.note_damage(&error);
                    storage_error(error)
                }
            })
    }

    /// Remembers that a statement found the file damaged, if that is why it failed.
    pub(super) fn note_damage(&self, error: &QueryError) {
        if is_damaged(error) {
            self.is_damaged.store(true, Ordering::Relaxed);
        }
    }

    /// The error that says what to do, if a statement of this process found the file damaged. It stays until
    /// the process ends, because the file can only be replaced while no process has it open.
    pub(super) fn damage(&self) -> Option<OpenError> {
        let is_damaged = self.is_damaged.load(Ordering::Relaxed);
        is_damaged.then(|| OpenError::Damaged {
            file: PathBuf::from(&self.path),
        })
    }

    /// Checked before every read and change. A connection stays with the file it opened, even if that is
    /// moved: its writes would be answered, but lost at the next start.
    pub(super) fn check_in_place(&self) -> Result<(), StorageError> {
        match FileIdentity::at(Path::new(&self.path)) {
            Ok(identity) if identity == self.identity => {
                self.log.get().map_or(Ok(()), WriteAheadLog::check_readable)
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(StorageError::Unavailable(error.into()))
            }
            Ok(_) | Err(_) => Err(StorageError::Unavailable(self.moved().into())),
        }
    }

    /// Checked before every change and every new connection.
    pub(super) fn check_log_in_place(&self) -> Result<(), StorageError> {
        self.log.get().map_or(Ok(()), WriteAheadLog::check_in_place)
    }

    /// Whether another file is in its place, which this process will never read.
    pub(super) fn replacement(&self) -> Option<Moved> {
        let identity = FileIdentity::at(Path::new(&self.path)).ok()?;
        (identity != self.identity).then(|| self.moved())
    }

    fn moved(&self) -> Moved {
        Moved::Database {
            path: self.path.clone(),
        }
    }

    fn try_connect(&self, access: Access, busy_timeout: Duration) -> Result<SqliteConnection, ConnectError> {
        let mut connection = SqliteConnection::establish(&self.path).map_err(ConnectError::Connection)?;
        connection.batch_execute(&setup_sql(access, busy_timeout))?;
        connection.batch_execute(&self.temporary_files_sql(access))?;
        // Changes use the same queries as reads, and are never cancelled.
        not_cancelled::register(&mut connection, || true)?;
        Ok(connection)
    }

    /// Where SQLite stores temporary data. By default it uses a directory such as `/tmp`, which is not
    /// writable on a read-only root file system. Reads and changes need little and keep it in memory. Sorting
    /// a whole table for an index needs as much space as the index, so it uses unlinked files beside the
    /// database, which are removed when the connection closes.
    fn temporary_files_sql(&self, access: Access) -> String {
        match access {
            Access::Read | Access::Write => "PRAGMA temp_store = MEMORY".to_owned(),
            Access::Rebuild => {
                let directory = Path::new(&self.path).parent().and_then(Path::to_str);
                // This setting is global to the process, in which no other connection uses such files.
                format!(
                    "PRAGMA temp_store_directory = '{}'; PRAGMA temp_store = FILE",
                    directory.unwrap_or_default().replace('\'', "''")
                )
            }
        }
    }
}

/// `PRAGMA optimize` is left out: its statistics of a small database remain after it has grown, and made
/// SQLite scan all keys where an index would have found few. Without statistics SQLite uses the index, which
/// tests of the query plans check.
///
/// `synchronous = FULL` syncs every commit to disk before it is answered; macOS also needs `fullfsync`,
/// because its `fsync` leaves data in the disk's cache.
fn setup_sql(access: Access, busy_timeout: Duration) -> String {
    let query_only = match access {
        Access::Read => "ON",
        Access::Write | Access::Rebuild => "OFF",
    };
    format!(
        "PRAGMA busy_timeout = {}; PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; \
         PRAGMA journal_size_limit = {MAX_EMPTY_LOG_BYTES}; PRAGMA query_only = {query_only}",
        busy_timeout.as_millis()
    )
}

fn switch_to_write_ahead_log(connection: &mut SqliteConnection) -> QueryResult<String> {
    let row: JournalMode = diesel::sql_query("PRAGMA journal_mode = WAL").get_result(connection)?;
    Ok(row.journal_mode)
}

enum ConnectError {
    Connection(ConnectionError),
    Query(QueryError),
}

impl From<QueryError> for ConnectError {
    fn from(error: QueryError) -> Self {
        Self::Query(error)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::{Duration, SystemTime};

    use diesel::connection::SimpleConnection;
    use diesel::prelude::{QueryableByName, RunQueryDsl};
    use diesel::sql_types::BigInt;
    use tempfile::TempDir;

    use super::{Access, DatabaseFile, MAX_EMPTY_LOG_BYTES};

    #[derive(QueryableByName)]
    struct Settings {
        #[diesel(sql_type = BigInt)]
        synchronous: i64,
        #[diesel(sql_type = BigInt)]
        foreign_keys: i64,
        #[diesel(sql_type = BigInt)]
        busy_timeout: i64,
        #[diesel(sql_type = BigInt)]
        query_only: i64,
        #[diesel(sql_type = BigInt)]
        temp_store: i64,
    }

    #[test]
    fn every_connection_syncs_commits_and_enforces_foreign_keys() {
        let directory = TempDir::new().unwrap();
        let (file, first) = DatabaseFile::open(directory.path(), Duration::from_millis(1_234), 0).unwrap();
        let another = |access| file.connect(access).map_err(|error| error.to_string()).unwrap();
        // 1 is FILE, 2 is MEMORY.
        for (mut connection, query_only, temp_store) in [
            (first, 0, 2),
            (another(Access::Write), 0, 2),
            (another(Access::Read), 1, 2),
            (another(Access::Rebuild), 0, 1),
        ] {
            let settings: Settings = diesel::sql_query(
                "SELECT synchronous, foreign_keys, timeout AS busy_timeout, query_only, temp_store
                 FROM pragma_synchronous, pragma_foreign_keys, pragma_busy_timeout, pragma_query_only,
                    pragma_temp_store",
            )
            .get_result(&mut connection)
            .unwrap();
            assert_eq!(settings.temp_store, temp_store);
            // 2 is FULL.
            assert_eq!((settings.synchronous, settings.foreign_keys), (2, 1));
            assert_eq!((settings.busy_timeout, settings.query_only), (1_234, query_only));
        }
    }

    #[test]
    fn write_ahead_log_shrinks_after_the_long_read_ends() {
        let directory = TempDir::new().unwrap();
        let (file, mut writer) = DatabaseFile::open(directory.path(), Duration::from_secs(5), 0).unwrap();
        let mut reader = file
            .connect(Access::Read)
            .map_err(|error| error.to_string())
            .unwrap();
        let bytes_of_log = || {
            let log = directory.path().join("keyward.db-wal");
            log.metadata().unwrap().len()
        };
        writer
            .batch_execute("CREATE TABLE events (words BLOB); INSERT INTO events VALUES (NULL)")
            .unwrap();
        reader.batch_execute("BEGIN; SELECT * FROM events").unwrap();
        let grow = "INSERT INTO events VALUES (randomblob(1000000))";
        for _ in 0..20 {
            writer.batch_execute(grow).unwrap();
        }
        assert!(bytes_of_log() > MAX_EMPTY_LOG_BYTES, "{}", bytes_of_log());
        reader.batch_execute("COMMIT").unwrap();
        // One commit puts the log into the database, and the next one begins it anew.
        for _ in 0..2 {
            writer.batch_execute("INSERT INTO events VALUES (NULL)").unwrap();
        }
        assert!(bytes_of_log() <= MAX_EMPTY_LOG_BYTES, "{}", bytes_of_log());
    }

    #[test]
    fn only_a_rebuild_creates_sort_files_beside_the_database() {
        for (access, sorts_in_files) in [(Access::Rebuild, true), (Access::Write, false)] {
            let directory = TempDir::new().unwrap();
            let data = directory.path().join("it's data");
            let (file, _connection) = DatabaseFile::open(&data, Duration::from_secs(1), 0).unwrap();
            let mut connection = file.connect(access).map_err(|error| error.to_string()).unwrap();
            connection
                .batch_execute(
                    "CREATE TABLE events (id INTEGER PRIMARY KEY, words BLOB);
                     INSERT INTO events (words) WITH RECURSIVE numbers (n) AS
                         (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10000)
                     SELECT randomblob(500) FROM numbers",
                )
                .unwrap();
            // From here on only files that come and go change the directory.
            let directory = File::open(&data).unwrap();
            directory.set_modified(SystemTime::UNIX_EPOCH).unwrap();
            connection
                .batch_execute("CREATE INDEX events_words_idx ON events (words)")
                .unwrap();
            let modified = directory.metadata().unwrap().modified().unwrap();
            assert_eq!(modified != SystemTime::UNIX_EPOCH, sorts_in_files);
        }
    }
}

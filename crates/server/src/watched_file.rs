//! Files that the server reads again when they change, beside the requests.

use std::error::Error;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use keyward_domain::current::Current;
use keyward_domain::failure_sentence::sentence;
use tokio::task::spawn_blocking;
use tokio::time::Instant;
use tracing::{error, info};

use crate::job::{self, RunningJob, rest};
use crate::runs::Runs;

/// How often a file is read. It is small; its time of change is not trusted, since a mounted secret may keep its own.
const INTERVAL: Duration = Duration::from_secs(2);

/// Far more than any of these files needs.
const MAX_BYTES: u64 = 1024 * 1024;

/// The content of a watched file.
pub(crate) trait FileContent: Sized + Send + Sync + 'static {
    /// The name of its records in log lines: a plural.
    const RECORDS: &'static str;

    /// The option that names the file.
    const OPTION: &'static str;

    /// The name in metrics of the task that reads the file.
    const TASK: &'static str;

    /// Why bytes name nothing. No message repeats anything of the file: it may hold a secret by mistake.
    type Invalid: Error;

    /// Reads all bytes of a file.
    ///
    /// # Errors
    /// The error is the first one in the file, with its position.
    fn parse(bytes: &[u8]) -> Result<Self, Self::Invalid>;

    /// How many are named.
    fn count(&self) -> usize;
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("cannot read {} (set {option} to a file that this user may read)", .path.display())]
    Unreadable {
        path: PathBuf,
        option: &'static str,
        source: io::Error,
    },
    #[error("{} is no regular file: set {option} to one", .path.display())]
    NotAFile { path: PathBuf, option: &'static str },
    #[error("{} is larger than 1 MiB: set {option} to a file that has only {records}", .path.display())]
    TooLarge {
        path: PathBuf,
        option: &'static str,
        records: &'static str,
    },
    #[error("{}, {problem}", .path.display())]
    Invalid { path: PathBuf, problem: String },
}

/// The bytes of the file.
fn read<T: FileContent>(path: &Path) -> Result<Vec<u8>, FileError> {
    let (path, option) = (path.to_owned(), T::OPTION);
    // Asked before it is opened: to open a pipe would wait for its writer.
    let read = || {
        if !path.metadata()?.is_file() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        File::open(&path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    };
    match read() {
        Ok(Some(bytes)) if bytes.len() as u64 <= MAX_BYTES => Ok(bytes),
        Ok(Some(_)) => Err(FileError::TooLarge {
            path,
            option,
            records: T::RECORDS,
        }),
        Ok(None) => Err(FileError::NotAFile { path, option }),
        Err(source) => Err(FileError::Unreadable { path, option, source }),
    }
}

fn parse<T: FileContent>(path: &Path, bytes: &[u8]) -> Result<T, FileError> {
    T::parse(bytes).map_err(|problem| FileError::Invalid {
        path: path.to_owned(),
        problem: problem.to_string(),
    })
}

/// Reads a file again when it changes.
pub(crate) struct WatchedFile<T> {
    path: PathBuf,
    /// The content of the file when it was last read completely.
    seen: Vec<u8>,
    current: Arc<Current<T>>,
    /// The last logged complaint, if the file cannot be used now.
    complaint: Option<String>,
    runs: Arc<Runs>,
}

impl<T: FileContent> WatchedFile<T> {
    /// Reads the file for the first time.
    ///
    /// # Errors
    /// It cannot be used.
    pub(crate) fn new(path: PathBuf) -> Result<Self, FileError> {
        let seen = read::<T>(&path)?;
        let named = parse(&path, &seen)?;
        Ok(Self {
            current: Arc::new(Current::new(named)),
            path,
            seen,
            complaint: None,
            runs: Runs::of(T::TASK),
        })
    }

    /// The present content, which changes with the file.
    pub(crate) fn current(&self) -> Arc<Current<T>> {
        Arc::clone(&self.current)
    }

    pub(crate) fn runs(&self) -> Arc<Runs> {
        Arc::clone(&self.runs)
    }

    /// Looks every few seconds.
    pub(crate) fn start(mut self) -> RunningJob {
        let runs = self.runs();
        job::start(T::RECORDS, |mut end| async move {
            while rest(INTERVAL, &mut end).await.is_continue() {
                // It panics only if the look does; the job then ends, and its end says so.
                match spawn_blocking(move || self.looked()).await {
                    Ok(job) => self = job,
                    Err(cause) => {
                        runs.add_panicked();
                        error!(
                            records = T::RECORDS,
                            %cause,
                            "watched file is no longer read: restart the server"
                        );
                        break;
                    }
                }
            }
        })
    }

    fn looked(mut self) -> Self {
        self.look();
        self
    }

    /// Applies the content of the file if it changed; keeps the previous content if the new one cannot be used.
    fn look(&mut self) {
        let begun = Instant::now();
        let changed = self.changed();
        let count = |named: &Option<T>| named.as_ref().map_or(0, |named| named.count() as u64);
        self.runs.add(begun, changed.as_ref().map(count));
        match changed {
            Ok(None) => {
                if self.complaint.take().is_some() {
                    info!(
                        records = T::RECORDS,
                        file = %self.path.display(),
                        "watched file has its previous content again"
                    );
                }
            }
            Ok(Some(named)) => {
                let (count, file) = (named.count(), self.path.display());
                info!(records = T::RECORDS, count, %file, "watched file read again");
                self.current.replace(named);
                self.complaint = None;
            }
            Err(failure) => {
                let complaint = sentence(&failure);
                if self.complaint.as_ref() != Some(&complaint) {
                    error!(
                        records = T::RECORDS,
                        cause = complaint,
                        "watched file was not read again; keeping its previous content"
                    );
                }
                self.complaint = Some(complaint);
            }
        }
    }

    fn changed(&mut self) -> Result<Option<T>, FileError> {
        let bytes = read::<T>(&self.path)?;
        if bytes == self.seen {
            return Ok(None);
        }
        let named = parse(&self.path, &bytes)?;
        self.seen = bytes;
        Ok(Some(named))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use keyward_domain::verifier::{VerifierName, VerifierSecret, Verifiers};
    use tempfile::TempDir;
    use tracing_subscriber::fmt;

    use super::*;
    use crate::logging::tests::Lines;
    use crate::random::OsRandom;
    use crate::verifier_file;

    struct Scene {
        job: WatchedFile<Verifiers>,
        path: PathBuf,
        _directory: TempDir,
    }

    impl Scene {
        fn with(text: &str) -> Self {
            let directory = TempDir::new().unwrap();
            let path = directory.path().join("watched");
            fs::write(&path, text).unwrap();
            Self {
                job: WatchedFile::new(path.clone()).unwrap(),
                path,
                _directory: directory,
            }
        }

        /// The log lines of a look at the file with this content.
        fn look_at(&mut self, content: impl AsRef<[u8]>) -> String {
            fs::write(&self.path, content).unwrap();
            self.look()
        }

        fn look(&mut self) -> String {
            let lines = Lines::default();
            let writer = lines.clone();
            let subscriber = fmt().with_writer(move || writer.clone()).finish();
            tracing::subscriber::with_default(subscriber, || self.job.look());
            lines.text()
        }

        fn knows(&self, secret: &VerifierSecret) -> bool {
            let now = self.job.current().now();
            now.find("orders", secret.expose().as_bytes()).is_some()
        }
    }

    fn line(secret: &VerifierSecret) -> String {
        verifier_file::line(&VerifierName::parse("orders").unwrap(), secret.digest())
    }

    #[test]
    fn changed_file_replaces_the_verifiers() {
        let [old, new] = std::array::from_fn(|_| VerifierSecret::generate(&OsRandom));
        let mut scene = Scene::with(&line(&old));
        assert_eq!(scene.look(), "");
        assert!(
            scene
                .look_at(line(&old) + &line(&new))
                .contains("watched file read again")
        );
        assert!(scene.knows(&old) && scene.knows(&new));
        scene.look_at(line(&new));
        assert!(!scene.knows(&old) && scene.knows(&new));
        scene.look_at("");
        assert!(!scene.knows(&new));
    }

    #[test]
    fn unusable_file_keeps_the_verifiers_and_is_logged_once() {
        let secret = VerifierSecret::generate(&OsRandom);
        let mut scene = Scene::with(&line(&secret));
        let told = scene.look_at("orders:s3cret");
        assert!(told.contains("ERROR") && told.contains("line 1"), "{told}");
        assert!(!told.contains("s3cret"), "{told}");
        assert_eq!(scene.look(), "");
        assert!(scene.look_at(vec![b'#'; 1024 * 1024 + 1]).contains("1 MiB"));
        fs::remove_file(&scene.path).unwrap();
        assert!(scene.look().contains("cannot read"));
        assert!(scene.knows(&secret));
        let mended = scene.look_at(line(&secret));
        assert!(
            mended.contains("INFO") && mended.contains("has its previous content again"),
            "{mended}"
        );
        assert_eq!(scene.look(), "");
        assert!(scene.look_at("x").contains("line 1"), "a new fault is told anew");
    }

    #[test]
    fn look_at_an_unusable_file_is_a_failed_run() {
        let secret = VerifierSecret::generate(&OsRandom);
        let mut scene = Scene::with(&line(&secret));
        let runs = scene.job.runs();
        scene.look();
        let succeeded = runs.summary();
        assert!(succeeded.last_success.is_some());
        for failures in 1..=2 {
            scene.look_at("orders:s3cret");
            let summary = runs.summary();
            assert_eq!((summary.failures, summary.records), (failures, 0));
            assert_eq!(summary.last_success, succeeded.last_success);
        }
        scene.look_at(line(&secret) + "\n");
        let summary = runs.summary();
        assert_eq!((summary.failures, summary.records), (2, 1));
    }
}

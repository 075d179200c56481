//! Reads the file of verifiers again when it changes, beside the requests.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use keyward_domain::failure_sentence::sentence;
use keyward_domain::verifier::{CurrentVerifiers, Verifiers};
use tokio::task::spawn_blocking;
use tracing::{error, info};

use crate::job::{self, RunningJob, rest};
use crate::verifier_file::{self, VerifierFileError};

/// How often the file is read. It is small; its time of change is not trusted, since a mounted secret may keep its own.
const INTERVAL: Duration = Duration::from_secs(2);

/// Keeps the verifiers as the file names them.
pub(crate) struct VerifierJob {
    path: PathBuf,
    /// What the file held when it was last read as a whole.
    seen: Vec<u8>,
    verifiers: Arc<CurrentVerifiers>,
    /// What was said of a file that cannot be used.
    complaint: Option<String>,
}

impl VerifierJob {
    /// Reads the file for the first time.
    ///
    /// # Errors
    /// It cannot be used.
    pub(crate) fn new(path: PathBuf) -> Result<Self, VerifierFileError> {
        let seen = verifier_file::read(&path)?;
        let verifiers = verifier_file::parse(&path, &seen)?;
        Ok(Self {
            verifiers: Arc::new(CurrentVerifiers::new(verifiers)),
            path,
            seen,
            complaint: None,
        })
    }

    /// The verifiers, always as they are now.
    pub(crate) fn verifiers(&self) -> Arc<CurrentVerifiers> {
        Arc::clone(&self.verifiers)
    }

    /// Looks every few seconds.
    pub(crate) fn start(mut self) -> RunningJob {
        job::start("verifiers", |mut end| async move {
            while rest(INTERVAL, &mut end).await.is_continue() {
                // It panics only if the look does; the job then ends, and its end says so.
                match spawn_blocking(move || self.looked()).await {
                    Ok(job) => self = job,
                    Err(cause) => {
                        error!(%cause, "verifiers are no longer read again: restart the server");
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

    /// Takes what the file names now, if it changed; keeps the verifiers as they are if it cannot be used.
    fn look(&mut self) {
        match self.changed() {
            Ok(None) => self.complaint = None,
            Ok(Some(verifiers)) => {
                info!(verifiers = verifiers.count(), file = %self.path.display(), "verifiers read again");
                self.verifiers.replace(verifiers);
                self.complaint = None;
            }
            Err(failure) => {
                let complaint = sentence(&failure);
                if self.complaint.as_ref() != Some(&complaint) {
                    error!(
                        cause = complaint,
                        "verifiers not read again; those before the change stay"
                    );
                }
                self.complaint = Some(complaint);
            }
        }
    }

    fn changed(&mut self) -> Result<Option<Verifiers>, VerifierFileError> {
        let bytes = verifier_file::read(&self.path)?;
        if bytes == self.seen {
            return Ok(None);
        }
        let verifiers = verifier_file::parse(&self.path, &bytes)?;
        self.seen = bytes;
        Ok(Some(verifiers))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use keyward_domain::verifier::{VerifierName, VerifierSecret};
    use tracing_subscriber::fmt;

    use super::*;
    use crate::logging::tests::Lines;
    use crate::random::OsRandom;

    struct Scene {
        job: VerifierJob,
        path: PathBuf,
    }

    impl Scene {
        fn with(name: &str, text: &str) -> Self {
            let path = std::env::temp_dir().join(format!("keyward-{name}-{}", std::process::id()));
            fs::write(&path, text).unwrap();
            Self {
                job: VerifierJob::new(path.clone()).unwrap(),
                path,
            }
        }

        /// What is logged when the job looks at the file with this content.
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
            let now = self.job.verifiers().now();
            now.find("orders", secret.expose().as_bytes()).is_some()
        }
    }

    impl Drop for Scene {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.path);
        }
    }

    fn line(secret: &VerifierSecret) -> String {
        verifier_file::line(&VerifierName::parse("orders").unwrap(), secret.digest())
    }

    #[test]
    fn changed_file_replaces_the_verifiers() {
        let [old, new] = std::array::from_fn(|_| VerifierSecret::generate(&OsRandom));
        let mut scene = Scene::with("changed", &line(&old));
        assert_eq!(scene.look(), "");
        assert!(scene.look_at(line(&old) + &line(&new)).contains("read again"));
        assert!(scene.knows(&old) && scene.knows(&new));
        scene.look_at(line(&new));
        assert!(!scene.knows(&old) && scene.knows(&new));
        scene.look_at("");
        assert!(!scene.knows(&new));
    }

    #[test]
    fn unusable_file_keeps_the_verifiers_and_is_told_once() {
        let secret = VerifierSecret::generate(&OsRandom);
        let mut scene = Scene::with("unusable", &line(&secret));
        let told = scene.look_at("orders:s3cret");
        assert!(told.contains("ERROR") && told.contains("line 1"), "{told}");
        assert!(!told.contains("s3cret"), "{told}");
        assert_eq!(scene.look(), "");
        assert!(scene.look_at(vec![b'#'; 1024 * 1024 + 1]).contains("1 MiB"));
        fs::remove_file(&scene.path).unwrap();
        assert!(scene.look().contains("cannot read"));
        assert!(scene.knows(&secret));
        assert_eq!(scene.look_at(line(&secret)), "");
        assert!(scene.look_at("x").contains("line 1"), "a new fault is told anew");
    }
}

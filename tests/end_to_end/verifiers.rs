//! A service that may introspect tokens: its secret, and the file that names it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::process::Command;

use crate::keyward::binary;

/// Credentials as `keyward verifier create` makes them. The file is removed with this value.
pub(crate) struct Verifier {
    pub(crate) name: &'static str,
    pub(crate) secret: String,
    file: PathBuf,
}

impl Verifier {
    pub(crate) async fn create(name: &'static str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let mut command = Command::new(binary());
        let output = command
            .args(["verifier", "create", name])
            .output()
            .await
            .expect("keyward starts");
        let said = String::from_utf8(output.stderr).expect("text");
        assert!(output.status.success(), "{said}");
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("verifiers-{}-{number}", std::process::id()));
        std::fs::write(&file, output.stdout).expect("a file");
        let secret = said.trim_end().rsplit(' ').next().expect("a secret").to_owned();
        Self { name, secret, file }
    }

    /// The option that names the file.
    pub(crate) fn option(&self) -> String {
        format!("--verifiers={}", self.file.display())
    }
}

impl Drop for Verifier {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

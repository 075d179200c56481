//! A service that may introspect tokens: its secret, and the file that names it.

use tempfile::NamedTempFile;
use tokio::process::Command;

use crate::directory_of_program;
use crate::keyward::binary;

/// Credentials as `keyward verifier create` makes them. The file is removed with this value.
pub struct Verifier {
    /// The username of its credentials.
    pub name: &'static str,
    /// The password of its credentials.
    pub secret: String,
    file: NamedTempFile,
}

impl Verifier {
    /// Creates credentials, and a file that has only these.
    pub async fn create(name: &'static str) -> Self {
        let mut command = Command::new(binary());
        let output = command
            .args(["verifier", "create", name])
            .output()
            .await
            .expect("keyward starts");
        let said = String::from_utf8(output.stderr).expect("text");
        assert!(output.status.success(), "{said}");
        let file = NamedTempFile::new_in(directory_of_program()).expect("a file");
        std::fs::write(&file, output.stdout).expect("a writable file");
        let secret = said.trim_end().rsplit(' ').next().expect("a secret").to_owned();
        Self { name, secret, file }
    }

    /// The option that names the file.
    pub fn option(&self) -> String {
        format!("--verifiers={}", self.file.path().display())
    }
}

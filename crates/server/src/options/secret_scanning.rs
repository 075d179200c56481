//! The options about scanners that find tokens.

use std::path::PathBuf;

use clap::Args;

/// Which scanners may report signed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Secret scanning")]
pub(crate) struct SecretScanningOptions {
    /// The file with the public keys of GitHub's secret scanning; without it, its reports are answered 404
    ///
    /// It holds what <https://api.github.com/meta/public_keys/secret_scanning> returns. A changed file is
    /// read again within seconds. If it cannot be read then, the keys before the change stay.
    #[arg(long, env = "KEYWARD_GITHUB_KEYS", value_name = "FILE")]
    pub(crate) github_keys: Option<PathBuf>,
}

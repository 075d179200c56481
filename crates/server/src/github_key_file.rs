//! The file with GitHub's public keys, as GitHub serves them.

use keyward_http_api::{GitHubKeys, InvalidGitHubKeys};

use crate::watched_file::FileContent;

impl FileContent for GitHubKeys {
    const RECORDS: &'static str = "keys of GitHub";
    const OPTION: &'static str = "--github-keys";
    const TASK: &'static str = "github_keys";

    type Invalid = InvalidGitHubKeys;

    fn parse(bytes: &[u8]) -> Result<Self, InvalidGitHubKeys> {
        Self::parse(bytes)
    }

    fn count(&self) -> usize {
        self.count()
    }
}

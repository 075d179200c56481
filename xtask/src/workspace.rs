//! The folders of the repository and of the build's output.

use std::path::{Path, PathBuf};

use cargo_metadata::MetadataCommand;

use crate::failure::{Failure, Outcome};

pub(crate) struct Workspace {
    root: PathBuf,
    target: PathBuf,
}

impl Workspace {
    /// The workspace of the current folder.
    pub(crate) fn find() -> Outcome<Self> {
        let metadata = MetadataCommand::new()
            .no_deps()
            .exec()
            .map_err(Failure::about("cargo metadata"))?;
        Ok(Self {
            root: metadata.workspace_root.into(),
            target: metadata.target_directory.into(),
        })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn target(&self) -> &Path {
        &self.target
    }
}

#[cfg(test)]
mod tests {
    use cargo_metadata::MetadataCommand;

    /// The README says `cargo run`, and several members have binaries.
    #[test]
    fn cargo_run_finds_one_binary() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
        let metadata = MetadataCommand::new()
            .manifest_path(root)
            .no_deps()
            .exec()
            .expect("cargo metadata");
        let members = metadata.workspace_default_packages();
        let chosen: Vec<&str> = members
            .iter()
            .filter_map(|package| package.default_run.as_deref())
            .collect();
        assert_eq!(chosen, ["keyward"]);
    }
}

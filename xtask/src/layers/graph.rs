//! The dependencies among packages: the part of cargo's metadata that the rules use.

use std::collections::BTreeMap;

/// The workspace, from its manifests.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub(crate) packages: Vec<Package>,
    /// The packages for which `deny.toml` says who may depend on them.
    pub(crate) layered: Vec<String>,
    /// Every package from which the domain is compiled with production's features.
    pub(crate) domain_tree: Vec<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) dependencies: Vec<Dependency>,
    /// The features and dependencies that each feature enables.
    pub(crate) features: BTreeMap<String, Vec<String>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) only_for_tests: bool,
    pub(crate) optional: bool,
    pub(crate) default_features: bool,
    pub(crate) features: Vec<String>,
}

//! Who depends on whom: as much of cargo's metadata as the rules look at.

use std::collections::BTreeMap;

/// The workspace, as its manifests say it.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub(crate) packages: Vec<Package>,
    /// The packages for which `deny.toml` says who may depend on them.
    pub(crate) layered: Vec<String>,
    /// Every package that the domain is compiled from when it is used as production uses it.
    pub(crate) domain_tree: Vec<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) dependencies: Vec<Dependency>,
    /// What each feature turns on.
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

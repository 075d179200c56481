//! Checks that imports run only the way that the architecture draws them, between crates and within each.

mod graph;
mod modules;
mod rules;

use std::fs;

use cargo_metadata::{DependencyKind, MetadataCommand};

use crate::command::{cargo, output};
use crate::failure::{Failure, Outcome};
use crate::workspace::Workspace;
use graph::{Dependency, Graph, Package};

pub(crate) fn layers(workspace: &Workspace) -> Outcome {
    let packages = packages(workspace)?;
    let circles = circles(&packages)?;
    let graph = Graph {
        packages: packages.into_iter().map(package).collect(),
        layered: layered(workspace)?,
        domain_tree: domain_tree(workspace)?,
    };
    let mut violations = rules::violations(&graph);
    violations.extend(circles);
    if violations.is_empty() {
        eprintln!("the layers hold in {} crates", graph.packages.len());
        return Ok(());
    }
    Err(Failure::new(format!(
        "the layers do not hold (see ARCHITECTURE.md):\n- {}",
        violations.join("\n- ")
    )))
}

fn packages(workspace: &Workspace) -> Outcome<Vec<cargo_metadata::Package>> {
    let metadata = MetadataCommand::new()
        .current_dir(workspace.root())
        .no_deps()
        .other_options(vec!["--locked".to_owned()])
        .exec()
        .map_err(Failure::about("cargo metadata"))?;
    Ok(metadata.packages)
}

/// The circles among the modules of each crate, tests aside.
fn circles(packages: &[cargo_metadata::Package]) -> Outcome<Vec<String>> {
    let mut found = Vec::new();
    for package in packages {
        let is_product = |target: &&cargo_metadata::Target| target.is_lib() || target.is_bin();
        for target in package.targets.iter().filter(is_product) {
            let circles =
                modules::circles_in(target.src_path.as_std_path(), &|file| fs::read_to_string(file))?;
            let sentence = |circle| format!("modules of {} stand in a circle: {circle}", package.name);
            found.extend(circles.into_iter().map(sentence));
        }
    }
    Ok(found)
}

fn package(package: cargo_metadata::Package) -> Package {
    Package {
        name: package.name.to_string(),
        dependencies: package.dependencies.into_iter().map(dependency).collect(),
        features: package.features,
    }
}

/// The crates that `deny.toml` lists with their `wrappers`, each on a line of its own.
fn layered(workspace: &Workspace) -> Outcome<Vec<String>> {
    let policy = workspace.root().join("deny.toml");
    let policy = fs::read_to_string(policy).map_err(Failure::about("deny.toml"))?;
    let listed = policy.lines().filter_map(|line| {
        let (name, rest) = line.trim().strip_prefix("{ crate = \"")?.split_once('"')?;
        rest.contains("wrappers").then(|| name.to_owned())
    });
    Ok(listed.collect())
}

fn dependency(dependency: cargo_metadata::Dependency) -> Dependency {
    Dependency {
        name: dependency.name,
        only_for_tests: dependency.kind == DependencyKind::Development,
        optional: dependency.optional,
        default_features: dependency.uses_default_features,
        features: dependency.features,
    }
}

/// `cargo tree` rather than the metadata's graph: that one has the features that tests turn on mixed in.
/// Procedural macros run in the compiler and are no part of the domain.
fn domain_tree(workspace: &Workspace) -> Outcome<Vec<String>> {
    let edges = "normal,no-proc-macro";
    let arguments = [
        "tree",
        "--locked",
        "--package",
        "keyward-domain",
        "--edges",
        edges,
        "--prefix",
        "none",
    ];
    let tree = output(&mut cargo(workspace, &arguments))?;
    Ok(tree
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect())
}

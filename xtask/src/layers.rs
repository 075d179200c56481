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

/// Crates whose modules still stand in circles, and what ties them. Every other crate has none.
const NOT_CHECKED_FOR_CIRCLES: [(&str, &str); 2] = [
    (
        "keyward-console",
        "every page takes `Console`, which stands beside its routes in `lib.rs`",
    ),
    (
        "keyward-persistence",
        "SQL is asked in a dialect, and each dialect writes some of the SQL of its own",
    ),
];

pub(crate) fn layers(workspace: &Workspace) -> Outcome {
    let packages = packages(workspace)?;
    let circles = circles(&packages)?;
    let graph = Graph {
        packages: packages.into_iter().map(package).collect(),
        domain_tree: domain_tree(workspace)?,
    };
    let mut violations = rules::violations(&graph);
    violations.extend(circles);
    if violations.is_empty() {
        eprintln!("the layers hold in {} crates", graph.packages.len());
        for (name, reason) in NOT_CHECKED_FOR_CIRCLES {
            eprintln!("modules of {name} are not checked for circles: {reason}");
        }
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
        let name = package.name.as_str();
        let is_product = |target: &&cargo_metadata::Target| target.is_lib() || target.is_bin();
        let mut circles = Vec::new();
        for target in package.targets.iter().filter(is_product) {
            let root = target.src_path.as_std_path();
            circles.extend(modules::circles_in(root, &|file| fs::read_to_string(file))?);
        }
        let is_checked = NOT_CHECKED_FOR_CIRCLES.iter().all(|(other, _)| *other != name);
        if is_checked {
            let sentence = |circle| format!("modules of {name} stand in a circle: {circle}");
            found.extend(circles.into_iter().map(sentence));
        } else if circles.is_empty() {
            found.push(format!(
                "{name} has no circles any more: take it out of NOT_CHECKED_FOR_CIRCLES in xtask/src/layers.rs"
            ));
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

fn dependency(dependency: cargo_metadata::Dependency) -> Dependency {
    Dependency {
        name: dependency.name,
        only_for_tests: dependency.kind == DependencyKind::Development,
        optional: dependency.optional,
        default_features: dependency.uses_default_features,
        features: dependency.features,
    }
}

/// `cargo tree` rather than the metadata's graph: that one has the features that tests turn on mixed in. Procedural
/// macros run in the compiler and are no part of the domain.
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

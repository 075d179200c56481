//! Checks that imports run only the way that the architecture draws them.

mod graph;
mod rules;

use cargo_metadata::{DependencyKind, MetadataCommand};

use crate::command::{cargo, output};
use crate::failure::{Failure, Outcome};
use crate::workspace::Workspace;
use graph::{Dependency, Graph, Package};

pub(crate) fn layers(workspace: &Workspace) -> Outcome {
    let graph = Graph {
        packages: packages(workspace)?,
        domain_tree: domain_tree(workspace)?,
    };
    let violations = rules::violations(&graph);
    if violations.is_empty() {
        eprintln!("the layers hold in {} crates", graph.packages.len());
        return Ok(());
    }
    Err(Failure::new(format!(
        "the layers do not hold (see ARCHITECTURE.md):\n- {}",
        violations.join("\n- ")
    )))
}

fn packages(workspace: &Workspace) -> Outcome<Vec<Package>> {
    let metadata = MetadataCommand::new()
        .current_dir(workspace.root())
        .no_deps()
        .other_options(vec!["--locked".to_owned()])
        .exec()
        .map_err(Failure::about("cargo metadata"))?;
    Ok(metadata.packages.into_iter().map(package).collect())
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

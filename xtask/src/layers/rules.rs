//! Imports that only tests may have, and dependencies that the domain may have: rules that cargo-deny cannot
//! express.

use std::collections::BTreeMap;

use super::graph::{Dependency, Graph, Package};

const DOMAIN: &str = "keyward-domain";

/// Crates that only tests may import, and who else may. All of `keyward-tests` is for tests. Who may import
/// what at all stands in `deny.toml`.
const ONLY_FOR_TESTS: [(&str, &[&str]); 3] = [
    ("keyward-front-door", &["keyward"]),
    ("keyward-verification-cache", &["keyward"]),
    ("keyward-test-database", &["keyward-tests"]),
];

/// Crates on which no other depends.
const ROOTS: [&str; 3] = ["keyward", "keyward-tests", "xtask"];

/// All packages on which the domain may depend directly.
const DOMAIN_MAY_USE: [&str; 14] = [
    "async-trait",
    "chrono",
    "crc32fast",
    "deunicode",
    "futures-util",
    "hex",
    "hmac",
    "sha2",
    "subtle",
    "thiserror",
    "unicode-normalization",
    "unicode-properties",
    "uuid",
    "zeroize",
];

/// Dependencies that the domain may have only behind its feature `testing`.
const DOMAIN_MAY_USE_FOR_TESTING: [&str; 2] = ["mockall", "rand"];

const TESTING: &str = "testing";

/// Features of allowed crates that would bring a clock, randomness or serialization into the domain.
const FORBIDDEN_FEATURES: [(&str, &[&str]); 2] = [
    ("chrono", &["clock", "now", "serde"]),
    (
        "uuid",
        &[
            "fast-rng",
            "rng",
            "rng-getrandom",
            "rng-rand",
            "serde",
            "v1",
            "v4",
            "v6",
            "v7",
        ],
    ),
];

/// Crates that must not even be reached from the domain: serialization, input and output, clocks and
/// randomness.
const DOMAIN_NEVER_REACHES: [&str; 13] = [
    "diesel",
    "getrandom",
    "hyper",
    "iana-time-zone",
    "mockall",
    "poem",
    "poem-openapi",
    "rand",
    "reqwest",
    "serde",
    "serde_core",
    "serde_json",
    "tokio",
];

/// All violations of the rules, each in a sentence that names both packages.
pub(crate) fn violations(graph: &Graph) -> Vec<String> {
    let mut found: Vec<String> = graph.packages.iter().flat_map(not_for_tests).collect();
    found.extend(
        graph
            .packages
            .iter()
            .filter_map(|package| in_no_layer(package, &graph.layered)),
    );
    match graph.packages.iter().find(|package| package.name == DOMAIN) {
        Some(domain) => found.extend(foreign_matter(domain)),
        None => found.push(format!("there is no {DOMAIN} to check")),
    }
    for name in DOMAIN_NEVER_REACHES {
        if graph.domain_tree.iter().any(|reached| reached == name) {
            found.push(format!(
                "{DOMAIN} reaches {name}: see `cargo tree -p {DOMAIN} -e normal -i {name}`"
            ));
        }
    }
    found
}

/// The violation of a package that is in no layer, so that any package could depend on it.
fn in_no_layer(package: &Package, layered: &[String]) -> Option<String> {
    let name = &package.name;
    let is_in_one = ROOTS.contains(&name.as_str()) || layered.contains(name);
    (!is_in_one)
        .then(|| format!("{name} is in no layer: add a line to `deny.toml` that says who may depend on it"))
}

/// Imports of the package's product that only its tests may have.
fn not_for_tests(package: &Package) -> Vec<String> {
    let imports = |name: &str| {
        let mut dependencies = package.dependencies.iter();
        dependencies.any(|dependency| dependency.name == name && !dependency.only_for_tests)
    };
    ONLY_FOR_TESTS
        .iter()
        .filter(|(name, but)| imports(name) && !but.contains(&package.name.as_str()))
        .map(|(name, _)| format!("only tests of {} may import {name}", package.name))
        .collect()
}

/// Dependencies in the domain's manifest that are not allowed.
fn foreign_matter(domain: &Package) -> Vec<String> {
    let mut found = Vec::new();
    for dependency in domain
        .dependencies
        .iter()
        .filter(|dependency| !dependency.only_for_tests)
    {
        let name = dependency.name.as_str();
        if DOMAIN_MAY_USE_FOR_TESTING.contains(&name) {
            if !dependency.optional || !only_testing_turns_on(name, &domain.features) {
                found.push(format!(
                    "{DOMAIN} may use {name} only behind its feature `{TESTING}`"
                ));
            }
        } else if !DOMAIN_MAY_USE.contains(&name) {
            found.push(format!(
                "{DOMAIN} may not use {name}: it uses {} and no others",
                DOMAIN_MAY_USE.join(", ")
            ));
        }
        found.extend(forbidden_features(dependency));
    }
    found
}

fn forbidden_features(dependency: &Dependency) -> Vec<String> {
    let Some((name, forbidden)) = FORBIDDEN_FEATURES
        .iter()
        .find(|(name, _)| *name == dependency.name)
    else {
        return Vec::new();
    };
    let defaults = dependency.default_features.then_some("default");
    let asked = dependency
        .features
        .iter()
        .map(String::as_str)
        .filter(|feature| forbidden.contains(feature));
    asked
        .chain(defaults)
        .map(|feature| format!("{DOMAIN} may not ask for {name}'s feature `{feature}`"))
        .collect()
}

/// Whether `testing` is the one feature that turns the dependency on, and is itself not on by default.
fn only_testing_turns_on(dependency: &str, features: &BTreeMap<String, Vec<String>>) -> bool {
    let turned_on_by = |feature: &str, wanted: &[&str]| {
        features
            .get(feature)
            .is_some_and(|on| on.iter().any(|on| wanted.contains(&on.as_str())))
    };
    let spellings = [dependency, &format!("dep:{dependency}")];
    let by: Vec<&str> = features
        .keys()
        .map(String::as_str)
        .filter(|feature| turned_on_by(feature, &spellings))
        .collect();
    let testing_is_chosen = features.keys().all(|feature| !turned_on_by(feature, &[TESTING]));
    by == [TESTING] && testing_is_chosen
}

#[cfg(test)]
mod tests;

//! The arrows of the architecture, and what the domain may be made of.

use std::collections::BTreeMap;

use super::graph::{Dependency, Graph, Package};

const DOMAIN: &str = "keyward-domain";

/// One crate of the workspace and the crates of the workspace that it may import.
struct Layer {
    name: &'static str,
    imports: &'static [&'static str],
    /// Only its tests may import these too.
    tests_import: &'static [&'static str],
    /// Crates from outside that belong to another layer.
    never: &'static [&'static str],
}

const WEB: [&str; 3] = ["poem", "poem-openapi", "hyper"];
const SQL: [&str; 4] = ["diesel", "diesel-async", "diesel_migrations", "tokio-postgres"];

/// server → {http-api, console, persistence} → domain; server → front-door; {server, console} → audit-export → domain.
const LAYERS: [Layer; 10] = [
    Layer {
        name: "keyward",
        imports: &[
            "keyward-audit-export",
            "keyward-console",
            DOMAIN,
            "keyward-front-door",
            "keyward-http-api",
            "keyward-persistence",
        ],
        tests_import: &["keyward-test-database"],
        never: &[],
    },
    Layer {
        name: "keyward-http-api",
        imports: &[DOMAIN],
        tests_import: &["keyward-front-door"],
        never: &SQL,
    },
    Layer {
        name: "keyward-audit-export",
        imports: &[DOMAIN],
        tests_import: &[],
        never: &WEB,
    },
    Layer {
        name: "keyward-console",
        imports: &["keyward-audit-export", DOMAIN],
        tests_import: &["keyward-front-door"],
        never: &SQL,
    },
    // Its own tests turn on its feature `testing`.
    Layer {
        name: "keyward-persistence",
        imports: &[DOMAIN],
        tests_import: &["keyward-persistence", "keyward-test-database"],
        never: &WEB,
    },
    Layer {
        name: "keyward-front-door",
        imports: &[],
        tests_import: &[],
        never: &SQL,
    },
    // Its own tests turn on its feature `testing`.
    Layer {
        name: DOMAIN,
        imports: &[],
        tests_import: &[DOMAIN],
        never: &[],
    },
    Layer {
        name: "keyward-test-database",
        imports: &[],
        tests_import: &[],
        never: &[],
    },
    // They see the product only from outside.
    Layer {
        name: "keyward-tests",
        imports: &[],
        tests_import: &["keyward-test-database"],
        never: &[],
    },
    Layer {
        name: "xtask",
        imports: &[],
        tests_import: &[],
        never: &[],
    },
];

/// All that the domain may be built from directly.
const DOMAIN_MAY_USE: [&str; 12] = [
    "async-trait",
    "chrono",
    "crc32fast",
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

/// What the domain may use only behind its feature `testing`.
const DOMAIN_MAY_USE_FOR_TESTING: [&str; 3] = ["futures-util", "mockall", "rand"];

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

/// Crates that must not even be reached from the domain: serialization, input and output, clocks and randomness.
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

/// Everything that breaks a rule, each in a sentence that names both ends; empty when the layers hold.
pub(crate) fn violations(graph: &Graph) -> Vec<String> {
    let ours: Vec<&str> = graph
        .packages
        .iter()
        .map(|package| package.name.as_str())
        .collect();
    let mut found = Vec::new();
    for package in &graph.packages {
        match LAYERS.iter().find(|layer| layer.name == package.name) {
            Some(layer) => found.extend(wrong_arrows(layer, package, &ours)),
            None => found.push(format!(
                "{} is in no layer: say in xtask/src/layers/rules.rs which crates it may import",
                package.name
            )),
        }
    }
    match graph.packages.iter().find(|package| package.name == DOMAIN) {
        Some(domain) => found.extend(foreign_matter(domain, &ours)),
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

fn wrong_arrows(layer: &Layer, package: &Package, ours: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for dependency in &package.dependencies {
        let name = dependency.name.as_str();
        if layer.never.contains(&name) {
            found.push(format!(
                "{} may not depend on {name}: it belongs to another layer",
                layer.name
            ));
        }
        if !ours.contains(&name) || layer.imports.contains(&name) {
            continue;
        }
        match (layer.tests_import.contains(&name), dependency.only_for_tests) {
            (true, true) => {}
            (true, false) => found.push(format!("only tests of {} may import {name}", layer.name)),
            (false, _) => found.push(format!("{} may not import {name}", layer.name)),
        }
    }
    found
}

/// What the domain's manifest asks for beyond what is allowed.
fn foreign_matter(domain: &Package, ours: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let outside =
        |dependency: &&Dependency| !dependency.only_for_tests && !ours.contains(&dependency.name.as_str());
    for dependency in domain.dependencies.iter().filter(outside) {
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

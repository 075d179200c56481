//! Each kind of wrong dependency is found, and the right ones are not.

use super::*;

/// The workspace as it is, near enough for each rule to have something to look at.
fn real_graph() -> Graph {
    let packages = vec![
        package(
            "keyward",
            "keyward-audit-export keyward-console keyward-domain keyward-front-door keyward-http-api keyward-persistence \
                            poem tokio",
            "keyward-test-database",
        ),
        package(
            "keyward-http-api",
            "keyward-domain poem poem-openapi serde",
            "keyward-domain keyward-front-door",
        ),
        package("keyward-audit-export", "keyward-domain serde", ""),
        package(
            "keyward-console",
            "keyward-audit-export keyward-domain poem askama",
            "keyward-domain keyward-front-door",
        ),
        package(
            "keyward-persistence",
            "keyward-domain diesel diesel-async tokio-postgres",
            "keyward-domain keyward-test-database",
        ),
        package("keyward-front-door", "poem hyper tokio", "tokio"),
        domain(),
        package("keyward-test-database", "testcontainers tokio-postgres", ""),
        package("keyward-tests", "keyward-test-database reqwest", "thirtyfour"),
        package("xtask", "cargo_metadata", ""),
    ];
    let domain_tree =
        "keyward-domain async-trait chrono num-traits crc32fast sha2 digest subtle thiserror uuid zeroize";
    Graph {
        layered: words(
            "keyward-audit-export keyward-console keyward-domain keyward-front-door keyward-http-api keyward-persistence \
             keyward-test-database",
        ),
        packages,
        domain_tree: words(domain_tree),
    }
}

fn domain() -> Package {
    let mut domain = package(
        "keyward-domain",
        "async-trait chrono crc32fast sha2 subtle thiserror unicode-normalization unicode-properties uuid zeroize",
        "keyward-domain proptest tokio",
    );
    for name in DOMAIN_MAY_USE_FOR_TESTING {
        domain.dependencies.push(Dependency {
            optional: true,
            ..normal(name)
        });
    }
    let turned_on = DOMAIN_MAY_USE_FOR_TESTING
        .iter()
        .map(|name| format!("dep:{name}"))
        .collect();
    domain.features.insert(TESTING.to_owned(), turned_on);
    domain
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn normal(name: &str) -> Dependency {
    Dependency {
        name: name.to_owned(),
        only_for_tests: false,
        optional: false,
        default_features: false,
        features: Vec::new(),
    }
}

fn for_tests(name: &str) -> Dependency {
    Dependency {
        only_for_tests: true,
        ..normal(name)
    }
}

fn package(name: &str, dependencies: &str, test_dependencies: &str) -> Package {
    let dependencies = words(dependencies)
        .iter()
        .map(|name| normal(name))
        .collect::<Vec<_>>();
    let test_dependencies = words(test_dependencies)
        .iter()
        .map(|name| for_tests(name))
        .collect::<Vec<_>>();
    Package {
        name: name.to_owned(),
        dependencies: [dependencies, test_dependencies].concat(),
        features: BTreeMap::new(),
    }
}

fn with(package: &str, dependency: Dependency) -> Vec<String> {
    changed(package, |package| package.dependencies.push(dependency))
}

fn changed(name: &str, change: impl FnOnce(&mut Package)) -> Vec<String> {
    let mut graph = real_graph();
    change(
        graph
            .packages
            .iter_mut()
            .find(|package| package.name == name)
            .unwrap(),
    );
    violations(&graph)
}

#[track_caller]
fn assert_one(violations: &[String], expected: &str) {
    assert!(
        matches!(violations, [one] if one.contains(expected)),
        "{expected:?} is not the one of {violations:?}"
    );
}

#[test]
fn current_dependency_graph_breaks_no_rule() {
    assert_eq!(violations(&real_graph()), Vec::<String>::new());
}

#[test]
fn new_crate_in_no_layer_is_refused() {
    let mut graph = real_graph();
    graph.packages.push(package("keyward-mail", "keyward-domain", ""));
    assert_one(&violations(&graph), "keyward-mail is in no layer");
}

#[test]
fn only_adapter_tests_import_the_front_door() {
    for name in ["keyward-http-api", "keyward-console"] {
        assert_one(
            &with(name, normal("keyward-front-door")),
            &format!("only tests of {name} may import"),
        );
    }
}

#[test]
fn test_database_is_imported_by_tests_only() {
    for name in ["keyward", "keyward-persistence"] {
        assert_one(
            &with(name, normal("keyward-test-database")),
            &format!("only tests of {name} may import"),
        );
    }
}

#[test]
fn domain_uses_only_allowed_crates() {
    for name in ["serde", "tokio", "diesel", "poem", "regex"] {
        assert_one(
            &with("keyward-domain", normal(name)),
            &format!("keyward-domain may not use {name}"),
        );
        let optional = Dependency {
            optional: true,
            ..normal(name)
        };
        assert_one(
            &with("keyward-domain", optional),
            &format!("keyward-domain may not use {name}"),
        );
    }
    assert_eq!(
        with("keyward-domain", for_tests("serde_json")),
        Vec::<String>::new()
    );
}

#[test]
fn mocks_and_randomness_require_the_testing_feature() {
    assert_one(
        &with("keyward-domain", normal("mockall")),
        "mockall only behind its feature `testing`",
    );
    let by_another_feature = changed("keyward-domain", |domain| {
        domain
            .features
            .insert("mocks".to_owned(), vec!["dep:mockall".to_owned()]);
    });
    assert_one(&by_another_feature, "mockall only behind its feature `testing`");
    let by_default = changed("keyward-domain", |domain| {
        domain
            .features
            .insert("default".to_owned(), vec![TESTING.to_owned()]);
    });
    assert_eq!(
        by_default.len(),
        DOMAIN_MAY_USE_FOR_TESTING.len(),
        "{by_default:?}"
    );
}

#[test]
fn domain_dependencies_have_no_clock_or_randomness_features() {
    let with_feature = |crate_name: &str, feature: &str| {
        changed("keyward-domain", |domain| {
            let dependency = domain
                .dependencies
                .iter_mut()
                .find(|dependency| dependency.name == crate_name)
                .unwrap();
            dependency.features.push(feature.to_owned());
        })
    };
    for (crate_name, feature) in [
        ("chrono", "clock"),
        ("chrono", "now"),
        ("uuid", "v4"),
        ("uuid", "v7"),
        ("uuid", "serde"),
    ] {
        assert_one(
            &with_feature(crate_name, feature),
            &format!("{crate_name}'s feature `{feature}`"),
        );
    }
    assert_eq!(with_feature("uuid", "std"), Vec::<String>::new());
    let with_defaults = changed("keyward-domain", |domain| {
        let chrono = domain
            .dependencies
            .iter_mut()
            .find(|dependency| dependency.name == "chrono")
            .unwrap();
        chrono.default_features = true;
    });
    assert_one(&with_defaults, "chrono's feature `default`");
}

#[test]
fn transitive_domain_dependency_is_found() {
    for name in DOMAIN_NEVER_REACHES {
        let mut graph = real_graph();
        graph.domain_tree.push(name.to_owned());
        assert_one(&violations(&graph), &format!("keyward-domain reaches {name}"));
    }
}

#[test]
fn workspace_without_the_domain_fails_the_check() {
    let mut graph = real_graph();
    graph.packages.retain(|package| package.name != DOMAIN);
    assert!(
        violations(&graph)
            .iter()
            .any(|violation| violation.contains("there is no keyward-domain"))
    );
}

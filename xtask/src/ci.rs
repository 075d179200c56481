//! The steps of continuous integration; the tests are the last one.

use std::time::{Duration, Instant};

use crate::arguments::refuse_arguments;
use crate::binaries::{self, KEYWARD_VARIABLE};
use crate::command::{cargo, run};
use crate::dependency_policy::DEPENDENCY_POLICY;
use crate::failure::{Failure, Outcome};
use crate::test::{TestRun, take_backend};
use crate::without_ipv6::{AFFECTED, NetworkWithoutIpv6};
use crate::workspace::Workspace;
use crate::{advisories, example_project, faults, image, layers, openapi, schema, test_names, tools};

/// Stops at the first step that fails. The cheap steps come first; the tests come last, so that their totals
/// are the last lines.
pub(crate) fn ci(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let (backend, rest) = take_backend(arguments)?;
    refuse_arguments(rest)?;
    let mut steps = Steps::default();
    let cargo = |arguments: &[&str]| cargo(workspace, arguments);

    steps.run_step("tools", || {
        tools::ensure(
            workspace,
            &[tools::FOR_TESTS, tools::FOR_FAULTS, tools::FOR_CI].concat(),
        )
    })?;
    // Every crate for every platform, as the dependency policy looks at them without the network.
    steps.run_step("download", || run(&mut cargo(&["fetch", "--locked"])))?;
    steps.run_step("formatting", || {
        run(&mut cargo(&["fmt", "--all", "--check"]))?;
        example_project::check_formatting(workspace)
    })?;
    steps.run_step("layers", || layers::layers(workspace))?;
    steps.run_step("test names", || test_names::test_names(workspace))?;
    steps.run_step("dependency policy", || run(&mut cargo(DEPENDENCY_POLICY)))?;
    steps.run_step("advisories", || advisories::check_where_possible(workspace))?;
    steps.run_step("clippy", || {
        run(&mut cargo(&[
            "clippy",
            "--locked",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]))
    })?;
    // With the examples, dependencies have the features that they have in the step before, and are not
    // checked again.
    steps.run_step("documentation", || {
        run(
            cargo(&["doc", "--workspace", "--no-deps", "--lib", "--bins", "--examples"])
                .env("RUSTDOCFLAGS", "-D warnings"),
        )
    })?;
    // Nearly as for a release (`profile.faults`): the tests from end to end, attacks, replicas and image run it.
    let keyward = steps.run_step("optimized program", || binaries::keyward_released(workspace))?;
    let tests = steps.run_step("build and database", || {
        TestRun::prepare(workspace, keyward.clone(), &backend)
    })?;
    steps.run_step("openapi", || openapi::check(workspace, &keyward))?;
    steps.run_step("schema", || tests.tests(&schema::TESTS))?;
    steps.run_step("documentation's examples", || tests.documentation_tests())?;
    steps.run_step("example project", || example_project::check(workspace))?;
    // The last step runs every test without IPv6; these depend on IPv6, or on where the database is.
    steps.run_step("tests with IPv6", || {
        tests.tests(&["--profile", "ci", "-E", AFFECTED])
    })?;
    // They measure times, so a failure here does not stop the tests. Their PostgreSQL is always this machine's own: a
    // container's proxy for ports would be measured with it.
    let attacks = steps.run_step("attacks", || faults::attacks(workspace, "cluster", &[]));
    let replicas = steps.run_step("replicas", || faults::replicas(workspace, &[]));
    steps.run_step("image", || image::where_possible(workspace))?;
    steps.print_times();
    steps.run_step("tests", || {
        let network = NetworkWithoutIpv6::new(workspace)?;
        if let Some(reason) = network.obstacle() {
            eprintln!("WITH IPv6: {reason}");
            return tests.tests(&["--profile", "ci"]);
        }
        let mut test = network.test_command(&["--profile", "ci"])?;
        run(test.env(KEYWARD_VARIABLE, &keyward))
    })?;
    attacks.and(replicas)
}

/// Names each step and measures it.
#[derive(Default)]
struct Steps(Vec<(&'static str, Duration)>);

impl Steps {
    fn run_step<T>(&mut self, name: &'static str, step: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
        eprintln!("\n==> {name}");
        let start = Instant::now();
        let outcome = step().map_err(|failure| Failure::new(format!("step `{name}` failed: {failure}")));
        self.0.push((name, start.elapsed()));
        outcome
    }

    fn print_times(&self) {
        eprintln!("\n==> so far");
        for (name, duration) in &self.0 {
            eprintln!("{:>7.1} s  {name}", duration.as_secs_f64());
        }
    }
}

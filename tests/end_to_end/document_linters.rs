//! Public validators and linters accept the API's document without warnings.
//!
//! Each judge is also given a document with a fault that it must find, lest it be silent for another reason.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::process::Command;

use crate::others::{attempt, document, packages, run};

#[tokio::test]
async fn openapi_spec_validator_finds_nothing_in_the_document() {
    run(&mut openapi_spec_validator(&document())).await;
}

#[tokio::test]
async fn openapi_spec_validator_finds_duplicate_operation_ids() {
    let spoiled = spoiled("openapi-spec-validator", |document| {
        document["paths"]["/api/v1/user"]["get"]["operationId"] = json!("createApiKey");
    });
    refuses(&mut openapi_spec_validator(&spoiled), "createApiKey").await;
}

#[tokio::test]
async fn redocly_finds_nothing_in_the_document() {
    let said = run(&mut redocly(&document())).await;
    assert_eq!(said.trim(), "", "redocly has something to say");
}

#[tokio::test]
async fn redocly_finds_an_operation_without_error_response() {
    let spoiled = spoiled("redocly", |document| {
        document["paths"]["/api/v1/user"]["get"]["responses"] = json!({"204": {"description": "Fine."}});
    });
    let said = run(&mut redocly(&spoiled)).await;
    assert!(said.contains("operation-4xx-response"), "{said}");
}

#[tokio::test]
async fn spectral_finds_nothing_in_the_document() {
    run(&mut spectral(&document())).await;
}

#[tokio::test]
async fn spectral_finds_an_example_violating_its_schema() {
    let spoiled = spoiled("spectral", |document| {
        document["components"]["schemas"]["ApiKey"]["example"]["status"] = json!("dozing");
    });
    refuses(&mut spectral(&spoiled), "oas3-valid-schema-example").await;
}

fn openapi_spec_validator(document: &Path) -> Command {
    let mut command = Command::new(packages("judges/python").join("venv/bin/openapi-spec-validator"));
    command.args(["--validation-errors", "all"]).arg(document);
    command
}

fn redocly(document: &Path) -> Command {
    let mut command = node("@redocly/cli/bin/cli.js");
    // No telemetry.
    command.env("REDOCLY_TELEMETRY", "off");
    command.env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true");
    // A warning does not make it fail; in this format it prints its findings and nothing else.
    command.args([
        "lint",
        "--format=github-actions",
        "--max-problems=1000",
        "--config",
    ]);
    command.arg(rules("redocly.yaml")).arg(document);
    command
}

fn spectral(document: &Path) -> Command {
    let mut command = node("@stoplight/spectral-cli/dist/index.js");
    command.args(["lint", "--fail-severity=hint", "--ruleset"]);
    command.arg(rules("spectral.yaml")).arg(document);
    command
}

fn node(script: &str) -> Command {
    let mut command = Command::new("node");
    command.arg(packages("judges/npm").join("node_modules").join(script));
    command
}

fn rules(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("judges").join(file)
}

/// The document with a fault.
fn spoiled(judge: &str, spoil: impl FnOnce(&mut Value)) -> PathBuf {
    let text = std::fs::read_to_string(document()).expect("the document");
    let mut document: Value = serde_json::from_str(&text).expect("JSON");
    spoil(&mut document);
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("spoiled-for-{judge}.json"));
    std::fs::write(&file, document.to_string()).expect("a spoiled document");
    file
}

async fn refuses(judge: &mut Command, fault: &str) {
    let said = attempt(judge).await.expect_err("a fault is found");
    assert!(said.contains(fault), "{said}");
}

//! Extensible values are listed with `x-extensible-enum`, so that they are documented, but generators do not
//! create closed enums.

use keyward_domain::api_key::RevocationReason;
use serde_json::{Value, json};

use crate::problem::Code;

/// Lists the codes of problems and the reasons of revocations.
pub(super) fn list_known_words(document: &mut Value) {
    let codes: Vec<&str> = Code::ALL.iter().map(|code| code.definition().word).collect();
    extensible(document, "/components/schemas/Problem/properties/code", &codes);
    let reasons: Vec<&str> = RevocationReason::ALL
        .iter()
        .map(|reason| reason.as_str())
        .collect();
    extensible(
        document,
        "/components/schemas/ApiKey/properties/revokedReason",
        &reasons,
    );
}

fn extensible(document: &mut Value, pointer: &str, words: &[&str]) {
    if let Some(schema) = document.pointer_mut(pointer) {
        schema["x-extensible-enum"] = json!(words);
    }
}

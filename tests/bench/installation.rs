//! What the databases hold: one organization, and as many valid keys as are sent in turn.
//!
//! A small installation is made as people make it and exported; one key of the export is then copied, so that
//! what is imported into either database is what the product itself writes.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::console::PlainConsole;
use crate::keyward::{Keyward, OWNER_PASSWORD, keyward};
use crate::storage::Storage;
use crate::token::well_formed;

/// The export, which is removed with this value.
pub(crate) struct Installation {
    export: PathBuf,
    pub(crate) keys: usize,
}

impl Installation {
    pub(crate) async fn make(keys: usize) -> Self {
        let keyward = Keyward::start_on(Storage::embedded()).await;
        let owner = "admin bootstrap --organization Engines --username ada --password-stdin";
        keyward.command(owner, OWNER_PASSWORD).await;
        let owner = PlainConsole::sign_in_owner(&keyward).await;
        let _ = owner.api_with_first_key().await;
        // What a consumer without projects reaches is not kept in memory.
        owner.join_new_project("Engine").await;
        let exported = keyward.command("export", "").await;
        let lines: Vec<Value> = exported
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON lines"))
            .collect();
        let name = format!("measured-{}.jsonl", std::process::id());
        let export = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        write(&export, &lines, keys);
        Self { export, keys }
    }

    /// Puts it into an empty storage.
    pub(crate) async fn import_into(&self, storage: &Storage) {
        let export = File::open(&self.export).expect("the export");
        let mut import = keyward(storage);
        import.arg("import").stdin(export);
        let output = import.output().await.expect("keyward starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "keyward import failed: {errors}");
    }
}

impl Drop for Installation {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.export);
    }
}

/// The identifier of a key.
pub(crate) fn id(number: usize) -> String {
    format!("01980000-0000-7000-8000-{number:012x}")
}

/// The digest by which the key of a token is found.
pub(crate) fn digest(token: &str) -> String {
    hex::encode(Sha256::digest(token))
}

/// The copies stand after the key itself, and the last line is right for all (see `transfer/format.rs`).
fn write(path: &Path, lines: &[Value], copies: usize) {
    let file = File::create(path).expect("a file for the export");
    let mut out = Hashed {
        out: BufWriter::new(file),
        hash: Sha256::new(),
    };
    for line in lines {
        if line.get("end").is_some() {
            let mut end = line.clone();
            let keys = end["end"]["rows"]["api_keys"].as_u64().expect("a count");
            end["end"]["rows"]["api_keys"] = json!(keys + copies as u64);
            end["end"]["sha256"] = json!(hex::encode(out.hash.clone().finalize()));
            writeln!(out, "{end}").expect("the export is written");
            continue;
        }
        writeln!(out, "{line}").expect("the export is written");
        let Some(key) = line.get("api_keys") else { continue };
        let mut key = key.clone();
        for number in 1..=copies {
            key["id"] = json!(id(number));
            key["digest"] = json!(digest(&well_formed(number)));
            key["idempotency_key"] = Value::Null;
            key["request_digest"] = Value::Null;
            writeln!(out, "{}", json!({ "api_keys": key })).expect("the export is written");
        }
    }
    out.out.flush().expect("the export is written");
}

struct Hashed<W> {
    out: W,
    hash: Sha256,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

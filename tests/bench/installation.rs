//! The data of the databases: one organization, the valid keys of its owner that are sent in turn, some to be
//! revoked, and other members with a key each.
//!
//! A small installation is created through the console and exported; the rows of the export are then copied,
//! so that either database imports rows that the product itself writes.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::token::well_formed;
use keyward_tests::console::PlainConsole;
use keyward_tests::keyward::{Keyward, OWNER_PASSWORD, keyward};
use keyward_tests::storage::Storage;

/// How many other members there are.
pub(crate) const PEOPLE: usize = 2_000;
/// How many keys are there to be revoked: as many.
pub(crate) const TO_REVOKE: usize = PEOPLE;
/// The tokens of these two begin after this number.
const OTHERS: usize = 1_000_000_000;

/// The export, which is removed with this value.
pub(crate) struct Installation {
    export: PathBuf,
    pub(crate) keys: usize,
    /// The identifier of the organization.
    pub(crate) organization: String,
}

impl Installation {
    /// With this many keys of the owner, and this many other members, and as many keys to be revoked.
    pub(crate) async fn make(keys: usize, others: usize) -> Self {
        let keyward = Keyward::start_on(Storage::embedded()).await;
        let owner = "admin bootstrap --organization Engines --username ada --password-stdin";
        keyward.command(owner, OWNER_PASSWORD).await;
        let owner = PlainConsole::sign_in_owner(&keyward).await;
        let _ = owner.api_with_first_key().await;
        // Most consumers have a project; an empty reach is evicted by a change of any organization.
        owner.join_new_project("Engine").await;
        let exported = keyward.command("export", "").await;
        let lines: Vec<Value> = exported
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON lines"))
            .collect();
        let organization = lines.iter().find_map(|line| line["organizations"]["id"].as_str());
        let organization = organization.expect("an organization").to_owned();
        let name = format!("measured-{organization}.jsonl");
        let export = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        write(&export, &lines, keys, others);
        Self {
            export,
            keys,
            organization,
        }
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

/// The identifier of a key to be revoked.
pub(crate) fn id_to_revoke(number: usize) -> String {
    other_id(4, number)
}

/// The token of another member's key.
pub(crate) fn token_of_person(number: usize) -> String {
    well_formed(OTHERS + number)
}

fn other_id(kind: u8, number: usize) -> String {
    format!("01980000-0000-7000-800{kind}-{number:012x}")
}

/// The digest by which the key of a token is found.
pub(crate) fn digest(token: &str) -> String {
    hex::encode(Sha256::digest(token))
}

/// The copies stand after their originals, and the last line is right for all (see `transfer/format.rs`).
fn write(path: &Path, lines: &[Value], keys: usize, others: usize) {
    let file = File::create(path).expect("a file for the export");
    let mut out = Hashed {
        out: BufWriter::new(file),
        hash: Sha256::new(),
    };
    for line in lines {
        if line.get("end").is_some() {
            let mut end = line.clone();
            let rows = &mut end["end"]["rows"];
            for (table, copies) in [
                ("users", others),
                ("memberships", others),
                ("api_keys", keys + 2 * others),
            ] {
                rows[table] = json!(rows[table].as_u64().expect("a count") + copies as u64);
            }
            end["end"]["sha256"] = json!(hex::encode(out.hash.clone().finalize()));
            writeln!(out, "{end}").expect("the export is written");
            continue;
        }
        writeln!(out, "{line}").expect("the export is written");
        if let Some(user) = line.get("users") {
            out.copies(others, "users", user, person);
        }
        if let Some(membership) = line.get("memberships") {
            out.copies(others, "memberships", membership, membership_of_person);
        }
        if let Some(key) = line.get("api_keys") {
            out.copies(keys, "api_keys", key, |number| {
                let mut copy = key_of(id(number), well_formed(number));
                // The first use of a key on a day costs the database more than the others.
                copy["last_used_at"] = key["created_at"].clone();
                copy
            });
            out.copies(others, "api_keys", key, |number| {
                key_of(id_to_revoke(number), well_formed(OTHERS + PEOPLE + number))
            });
            out.copies(others, "api_keys", key, key_of_person);
        }
    }
    out.out.flush().expect("the export is written");
}

fn person(number: usize) -> Value {
    let username = format!("person-{number}");
    json!({ "id": other_id(1, number), "username": username, "search_text": username })
}

fn membership_of_person(number: usize) -> Value {
    json!({ "id": other_id(2, number), "user_id": other_id(1, number), "role": "member" })
}

fn key_of(id: String, token: String) -> Value {
    json!({ "id": id, "digest": digest(&token), "idempotency_key": null, "request_digest": null })
}

fn key_of_person(number: usize) -> Value {
    let mut key = key_of(other_id(3, number), token_of_person(number));
    key["consumer_id"] = json!(other_id(2, number));
    key["created_by_user_id"] = json!(other_id(1, number));
    key
}

struct Hashed<W> {
    out: W,
    hash: Sha256,
}

impl<W: Write> Hashed<W> {
    /// Writes this many rows like this one, each with values of its own.
    fn copies(&mut self, count: usize, table: &str, row: &Value, own: impl Fn(usize) -> Value) {
        let mut row = row.clone();
        for number in 1..=count {
            for (column, value) in own(number).as_object().expect("columns") {
                row[column] = value.clone();
            }
            writeln!(self, "{}", json!({ table: row })).expect("the export is written");
        }
    }
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

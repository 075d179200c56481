//! The data before an attack: two organizations, and more keys to revoke than could be created by requests in
//! time.
//!
//! A small installation is created through the console, on the embedded database, and exported. Its keys are
//! then copied in the export, so that either database imports rows that the product itself writes.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::target::StolenKey;
use keyward_tests::api::{Api, text};
use keyward_tests::console::PlainConsole;
use keyward_tests::keyward::{Keyward, OWNER_PASSWORD, keyward};
use keyward_tests::storage::Storage;

pub(crate) const PASSWORD: &str = "loud badgers draw charts";

/// Links of a chain of dead keys, each made from the one before, and dead keys next below the stolen one.
const DEAD_LINE: usize = 50_000;
const DEAD_CHILDREN: usize = 10_000;

/// The organizations `engines`, where a key of `grace` was stolen and which `ada` owns, and `bridges`, where
/// `bob` is.
pub(crate) struct Installation {
    lines: Vec<Value>,
    pub(crate) stolen: StolenKey,
    pub(crate) stolen_for_chain: StolenKey,
    /// Grace's own key, in her own hands.
    pub(crate) graces: StolenKey,
    pub(crate) bobs: StolenKey,
}

/// Identifiers of keys to be revoked, whose tokens are not known.
pub(crate) struct Prepared {
    pub(crate) export: PathBuf,
    pub(crate) graces: Vec<String>,
    pub(crate) bobs: Vec<String>,
    pub(crate) dead: Vec<String>,
}

impl Installation {
    pub(crate) async fn make() -> Self {
        let keyward = Keyward::start_on(Storage::embedded()).await;
        let first = "admin bootstrap --organization Engines --username ada --password-stdin";
        keyward.command(first, OWNER_PASSWORD).await;
        for (username, organization) in [("grace", "engines"), ("isa", "engines")] {
            let command = format!(
                "admin create-user --username {username} --organization {organization} --password-stdin"
            );
            keyward.command(&command, PASSWORD).await;
        }
        let second = "admin create-organization --name Bridges --owner isa";
        keyward.command(second, "").await;
        let bob = "admin create-user --username bob --organization bridges --password-stdin";
        keyward.command(bob, PASSWORD).await;

        let grace = PlainConsole::sign_in(keyward.base_url(), "grace", PASSWORD).await;
        let (graces, own) = key_of(&grace.api_with_first_key().await).await;
        let (stolen, api) = key_of_new(&grace, &own, "stolen").await;
        let (stolen_for_chain, _) = key_of_new(&grace, &own, "stolen, too").await;
        // A dead key with a parent, to be copied.
        let child = api.create("link", "").await;
        api.delete(text(&child, "id")).await;
        let bob = PlainConsole::sign_in(keyward.base_url(), "bob", PASSWORD).await;
        let (bobs, _) = key_of(&bob.api_with_first_key().await).await;

        let exported = keyward.command("export", "").await;
        let lines = exported
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON lines"));
        Self {
            lines: lines.collect(),
            stolen,
            stolen_for_chain,
            graces,
            bobs,
        }
    }

    /// Writes the installation for import, with this many more keys for each to revoke, and the dead ones if
    /// wanted.
    pub(crate) fn prepare(&self, to_revoke: usize, with_dead: bool) -> Prepared {
        let mut copies = Copies::default();
        let graces = copies.valid(self.row_of(&self.graces.id), to_revoke);
        let bobs = copies.valid(self.row_of(&self.bobs.id), to_revoke);
        let mut dead = Vec::new();
        if with_dead {
            let link = self.dead_row();
            let mut parent = self.stolen.id.clone();
            for _ in 0..DEAD_LINE {
                parent = copies.child(link, &parent);
                dead.push(parent.clone());
            }
            for _ in 0..DEAD_CHILDREN {
                dead.push(copies.child(link, &self.stolen.id));
            }
        }
        let export = Path::new(env!("CARGO_TARGET_TMPDIR")).join("attacked.jsonl");
        self.write(&export, &copies.rows);
        Prepared {
            export,
            graces,
            bobs,
            dead,
        }
    }

    fn keys(&self) -> impl Iterator<Item = &Map<String, Value>> {
        self.lines
            .iter()
            .filter_map(|line| line.get("api_keys")?.as_object())
    }

    fn row_of(&self, id: &str) -> &Map<String, Value> {
        self.keys().find(|row| row["id"] == id).expect("a key")
    }

    fn dead_row(&self) -> &Map<String, Value> {
        let is_dead_link = |row: &&Map<String, Value>| {
            row["created_by_key_id"] == self.stolen.id && !row["revoked_at"].is_null()
        };
        self.keys().find(is_dead_link).expect("a dead key")
    }

    /// The rows after those of their table, and a last line that is right for all (see `transfer/format.rs`).
    fn write(&self, path: &Path, more: &[Map<String, Value>]) {
        let (mut text, mut written) = (String::new(), false);
        let mut end = Value::Null;
        let mut keys_seen = false;
        for line in &self.lines {
            if line.get("end").is_some() {
                end = line.clone();
                continue;
            }
            let is_key = line.get("api_keys").is_some();
            if keys_seen && !is_key && !written {
                for row in more {
                    text.push_str(&format!("{}\n", json!({ "api_keys": row })));
                }
                written = true;
            }
            keys_seen |= is_key;
            text.push_str(&format!("{line}\n"));
        }
        assert!(written, "the export has rows after its keys");
        let count = end["end"]["rows"]["api_keys"].as_u64().expect("a count");
        end["end"]["rows"]["api_keys"] = json!(count + more.len() as u64);
        end["end"]["sha256"] = json!(hex::encode(Sha256::digest(&text)));
        text.push_str(&format!("{end}\n"));
        let mut file = File::create(path).expect("a file for the export");
        file.write_all(text.as_bytes()).expect("the export is written");
    }
}

impl Prepared {
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

impl Drop for Prepared {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.export);
    }
}

/// Rows of keys like other rows, with identifiers and digests of their own.
#[derive(Default)]
struct Copies {
    rows: Vec<Map<String, Value>>,
}

impl Copies {
    fn valid(&mut self, like: &Map<String, Value>, count: usize) -> Vec<String> {
        (0..count).map(|_| self.add(like.clone())).collect()
    }

    /// A dead key below another.
    fn child(&mut self, like: &Map<String, Value>, parent: &str) -> String {
        let mut row = like.clone();
        row.insert("created_by_key_id".to_owned(), json!(parent));
        // The database finds its place in the line.
        row.insert("tree_depth".to_owned(), json!(0));
        row.insert("skip_key_id".to_owned(), Value::Null);
        self.add(row)
    }

    fn add(&mut self, mut row: Map<String, Value>) -> String {
        let number = self.rows.len() + 1;
        let id = format!("01980000-0000-7000-8000-{number:012x}");
        row.insert("id".to_owned(), json!(id));
        row.insert(
            "digest".to_owned(),
            json!(hex::encode(Sha256::digest(number.to_le_bytes()))),
        );
        row.insert("idempotency_key".to_owned(), Value::Null);
        row.insert("request_digest".to_owned(), Value::Null);
        self.rows.push(row);
        id
    }
}

async fn key_of(api: &Api) -> (StolenKey, Api) {
    let key = api.get("/user/api-keys/current").await;
    let key = StolenKey {
        id: text(&key, "id").to_owned(),
        token: api.token().expect("a token").to_owned(),
    };
    (key, api.clone())
}

async fn key_of_new(console: &PlainConsole, api: &Api, name: &str) -> (StolenKey, Api) {
    let page = console.create_key(name).await;
    let token = keyward_tests::console::token_in(&page).expect("a token on the page");
    key_of(&api.with_token(&token)).await
}

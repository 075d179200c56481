//! The initial state of every scenario: a database with keys whose tokens are known.

use std::fs::File;
use std::net::{SocketAddr, TcpListener};
use std::process::Stdio;
use std::sync::Arc;

use tokio::process::Command;

use crate::cluster::{Cluster, Folder};
use keyward_tests::api::text;
use keyward_tests::console::PlainConsole;
use keyward_tests::keyward::{Keyward, OWNER_PASSWORD, binary};
use keyward_tests::storage::Storage;

/// Keys that stay valid.
const STABLE: usize = 24;

/// Keys that are revoked, one after the other: more than any scenario needs.
const TO_REVOKE: usize = 260;

/// Limits that allow one person to create all these keys at once.
const LIMITS: [&str; 6] = [
    "--key-limit",
    "100000",
    "--change-rate",
    "6000",
    "--change-burst",
    "100000",
];

const TEMPLATE: &str = "keyward_template";

/// The role of the servers has no superuser's places.
const ROLE: &str = "keyward:keyward";

/// A cluster with a database to copy.
pub(crate) struct Installation {
    pub(crate) cluster: Cluster,
    pub(crate) keys: Arc<Keys>,
    pub(crate) folder: Folder,
    databases: usize,
}

/// All keys of one person. They are known by their number.
pub(crate) struct Keys {
    keys: Vec<Key>,
}

pub(crate) struct Key {
    pub(crate) id: String,
    pub(crate) token: String,
}

impl Keys {
    pub(crate) fn stable(&self) -> std::ops::Range<usize> {
        0..STABLE
    }

    pub(crate) fn to_revoke(&self) -> std::ops::Range<usize> {
        STABLE..STABLE + TO_REVOKE
    }

    pub(crate) fn get(&self, number: usize) -> &Key {
        &self.keys[number]
    }

    /// The key that revokes the others.
    pub(crate) fn owner(&self) -> &Key {
        &self.keys[0]
    }
}

impl Installation {
    pub(crate) async fn make() -> Self {
        let folder = Folder::new();
        let export = folder.path().join("export");
        let keys = make_keys(&export).await;
        let cluster = Cluster::make();
        cluster
            .execute("CREATE ROLE keyward LOGIN PASSWORD 'keyward'")
            .await;
        let create = format!("CREATE DATABASE {TEMPLATE} OWNER keyward TEMPLATE template0 ENCODING 'UTF8'");
        cluster.execute(&create).await;
        let mut import = Command::new(binary());
        import
            .arg("import")
            .env("KEYWARD_DATABASE_URL", url(cluster.address(), TEMPLATE))
            .stdin(File::open(&export).expect("the export"));
        let output = import.output().await.expect("keyward starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "keyward import failed: {said}");
        Self {
            cluster,
            keys: Arc::new(keys),
            folder,
            databases: 0,
        }
    }

    /// A new database that holds it; returns its name.
    pub(crate) async fn database(&mut self) -> String {
        self.databases += 1;
        let name = format!("keyward_{}", self.databases);
        let create = format!("CREATE DATABASE {name} OWNER keyward TEMPLATE {TEMPLATE}");
        self.cluster.execute(&create).await;
        // Else it would be done when the server is stopped, or copied, for which a busy disk may need many
        // seconds.
        self.cluster.execute("CHECKPOINT").await;
        name
    }
}

/// The URL by which a server reaches a database.
pub(crate) fn url(at: SocketAddr, database: &str) -> String {
    format!("postgres://{ROLE}@{at}/{database}?sslmode=disable")
}

/// A port that is free now.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}

/// Made as people make them, on the embedded database, and exported.
async fn make_keys(export: &std::path::Path) -> Keys {
    let keyward = Keyward::serve(Storage::embedded(), &LIMITS).await;
    let first = "admin bootstrap --organization Engines --username ada --password-stdin";
    keyward.command(first, OWNER_PASSWORD).await;
    let api = PlainConsole::sign_in(keyward.base_url(), "ada", OWNER_PASSWORD)
        .await
        .api_with_first_key()
        .await;
    let owner = api.get("/user/api-keys/current").await;
    let mut keys = vec![Key {
        id: text(&owner, "id").to_owned(),
        token: api.token().expect("a token").to_owned(),
    }];
    while keys.len() < STABLE + TO_REVOKE {
        let created = api.create(&format!("key {}", keys.len()), "").await;
        keys.push(Key {
            id: text(&created, "id").to_owned(),
            token: text(&created, "key").to_owned(),
        });
    }
    let mut command = keyward_tests::keyward::keyward(keyward.storage());
    let file = File::create(export).expect("a file for the export");
    let exported = command
        .arg("export")
        .stdin(Stdio::null())
        .stdout(file)
        .status()
        .await;
    assert!(
        exported.expect("keyward starts").success(),
        "keyward export failed"
    );
    Keys { keys }
}

//! The databases, and the requests to the servers over them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::installation::{Installation, PEOPLE, id, token_of_person};
use crate::large_organization;
use crate::load::Sent;
use crate::many_keys;
use crate::options::Options;
use crate::process::Server;
use crate::rows::{Database, Request};
use crate::table;
use crate::token::{malformed, well_formed};
use keyward_tests::storage::Storage;
use keyward_tests::verifiers::Verifier;

/// How many tokens are guessed in turn, from this number on.
const GUESSES: usize = 100_000;
const FIRST_GUESS: usize = 2_000_000_000;

/// How many keys and events are stored where few are.
const FEW: usize = 1_000;

/// The key after which the last full page of the list of all keys begins. With a million keys, it is behind some 20,000
/// other pages.
const FAR_BACK: usize = 51;

pub(crate) struct Scene {
    storages: HashMap<Database, Storage>,
    /// As many tokens as in the other files, of keys spread over the table with many keys.
    valid: HashMap<Database, TokenFile>,
    malformed: TokenFile,
    of_people: TokenFile,
    pub(crate) guessed: TokenFile,
    many_keys: usize,
    pub(crate) verifier: Verifier,
    pub(crate) organization: String,
    pub(crate) revoked: AtomicUsize,
}

/// A token a line, removed with this value.
pub(crate) struct TokenFile(PathBuf);

impl Scene {
    /// Sets up the databases that the wanted rows need.
    pub(crate) async fn set(options: &Options) -> Self {
        let installation = Installation::make(options.keys, PEOPLE).await;
        let mut scene = Self {
            storages: HashMap::new(),
            valid: HashMap::new(),
            malformed: TokenFile::write("malformed", 1_000, malformed),
            of_people: TokenFile::write("of-people", PEOPLE, token_of_person),
            guessed: TokenFile::write("guessed", GUESSES, guessed),
            many_keys: options.many_keys,
            verifier: Verifier::create("service").await,
            organization: installation.organization.clone(),
            revoked: AtomicUsize::new(0),
        };
        for (database, storage) in [
            (Database::Postgres, Storage::postgres().await),
            (Database::Sqlite, Storage::embedded()),
        ] {
            installation.import_into(&storage).await;
            scene.add(database, storage, options.keys, options.keys);
        }
        if table::need(options, Database::PostgresWithManyKeys) {
            let (count, database) = (options.many_keys, Database::PostgresWithManyKeys);
            let storage = many_keys::make(&installation, count, options.events).await;
            scene.add(database, storage, count, options.keys.min(count));
            let few = Installation::make(FEW, 0).await;
            let storage = many_keys::make(&few, FEW, FEW).await;
            scene.add(Database::PostgresWithFewKeys, storage, FEW, FEW);
        }
        let large = [
            Database::PostgresWithLargeOrganization,
            Database::SqliteWithLargeOrganization,
        ];
        if large.iter().any(|database| table::need(options, *database)) {
            let [postgres, sqlite] = large;
            let storage = large_organization::make(options.many_keys, options.events).await;
            if table::need(options, sqlite) {
                let embedded = large_organization::embedded(&storage).await;
                scene.storages.insert(sqlite, embedded);
            }
            scene.storages.insert(postgres, storage);
        }
        scene
    }

    /// With this many keys, of which this many are asked for.
    fn add(&mut self, database: Database, storage: Storage, keys: usize, asked_for: usize) {
        let step = keys / asked_for;
        let name = format!("valid-{database:?}");
        let tokens = TokenFile::write(&name, asked_for, |number| well_formed(number * step));
        self.storages.insert(database, storage);
        self.valid.insert(database, tokens);
    }

    /// The database with many keys, and how many it has.
    pub(crate) fn many_keys(&self) -> (&Storage, usize) {
        (self.storage(Database::PostgresWithManyKeys), self.many_keys)
    }

    /// The page with its identifiers, which are the same in both databases.
    pub(crate) async fn page_of_large_organization(&self, page: &str) -> String {
        let storage = self.storage(Database::PostgresWithLargeOrganization);
        large_organization::with_identifiers(storage, page).await
    }

    pub(crate) fn storage(&self, database: Database) -> &Storage {
        &self.storages[&database]
    }

    /// The request to a server over this database.
    pub(crate) fn sent<'a>(&'a self, request: Request, database: Database, server: &Server) -> Sent<'a> {
        let valid = &self.valid[&database];
        let all_keys = "/organizations/engines/settings/api-keys/all";
        let (path, tokens) = match request {
            Request::Health => ("/healthz".to_owned(), None),
            Request::User => ("/api/v1/user".to_owned(), Some(valid)),
            Request::Malformed => ("/api/v1/user".to_owned(), Some(&self.malformed)),
            Request::ForwardAuth => ("/api/v1/auth".to_owned(), Some(valid)),
            Request::Introspection => ("/api/v1/introspect".to_owned(), Some(valid)),
            // By one key: with more of them, more uses are written down.
            Request::OwnKeys => ("/api/v1/user/api-keys".to_owned(), None),
            Request::AllKeys => (all_keys.to_owned(), None),
            Request::AllKeysFarBack => (format!("{all_keys}?after={}", id(FAR_BACK)), None),
            Request::AuditLog => ("/organizations/engines/settings/audit-log".to_owned(), None),
            Request::Create => ("/api/v1/user/api-keys".to_owned(), Some(&self.of_people)),
        };
        let header = match request {
            Request::Health => None,
            Request::Introspection => {
                let credentials = format!("{}:{}", self.verifier.name, self.verifier.secret);
                Some(("authorization", format!("Basic {}", STANDARD.encode(credentials))))
            }
            _ if request.is_of_console() => Some(("cookie", server.cookie.clone())),
            Request::OwnKeys => Some(("authorization", format!("Bearer {}", well_formed(1)))),
            _ => Some(("authorization", "Bearer *".to_owned())),
        };
        Sent {
            path,
            tokens: tokens.map(TokenFile::path),
            header,
            body: match request {
                Request::Introspection => Some(("application/x-www-form-urlencoded", "token=*")),
                Request::Create => Some(("application/json", r#"{"name":"nightly"}"#)),
                _ => None,
            },
        }
    }

    /// A valid token of the database that most rows have.
    pub(crate) fn first_token(&self) -> String {
        first_token(self.valid[&Database::Postgres].path())
    }
}

/// A token that no key has.
pub(crate) fn guessed(number: usize) -> String {
    well_formed(FIRST_GUESS + number)
}

impl TokenFile {
    fn write(name: &str, count: usize, token: impl Fn(usize) -> String) -> Self {
        let name = format!("{name}-{}.txt", std::process::id());
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let lines: String = (1..=count).map(|number| token(number) + "\n").collect();
        std::fs::write(&path, lines).expect("a file of tokens");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

pub(crate) fn all_tokens(file: &Path) -> Vec<String> {
    let tokens = std::fs::read_to_string(file).expect("the tokens");
    tokens.lines().map(str::to_owned).collect()
}

pub(crate) fn first_token(file: &Path) -> String {
    all_tokens(file).into_iter().next().expect("a token")
}

impl Drop for TokenFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

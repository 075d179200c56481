//! Records the statements of a store as its database gets them, and their query plans.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use diesel::connection::{Instrumentation, InstrumentationEvent, set_default_instrumentation};

use crate::database::{Database, Store};
use crate::postgres::proxy::Proxy;

/// A store of its own that is listened to.
pub(crate) struct Asked {
    pub(crate) store: Arc<dyn Store>,
    ear: Ear,
}

enum Ear {
    Line(Proxy),
    File(String),
}

/// A statement and its query plan, one step per line.
pub(crate) struct Plan {
    pub(crate) statement: String,
    pub(crate) steps: String,
}

/// A statement as PostgreSQL is sent it, with the types of its parameters, if the client says them.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    pub(crate) statement: String,
    pub(crate) types: Vec<u32>,
    /// How often it was executed since it was prepared.
    pub(crate) executions: u32,
}

impl Asked {
    pub(crate) async fn of(database: &Database) -> Self {
        match database.url() {
            Ok(url) => {
                let proxy = Proxy::before(url, None).await;
                let store = database.store_at(&proxy.url("127.0.0.1"));
                let ear = Ear::Line(proxy);
                Self { store, ear }
            }
            Err(file) => {
                // Connections that are opened later record their statements.
                let _ = set_default_instrumentation(|| Some(Box::new(Noting::default())));
                let store = database.store_at("");
                let ear = Ear::File(file);
                Self { store, ear }
            }
        }
    }

    /// The query plans of the store's statements since the last call.
    pub(crate) async fn plans(&self, database: &Database) -> Vec<Plan> {
        let mut asked = self.statements();
        let mut seen = HashSet::new();
        asked.retain(|asked| {
            let verb = asked.statement.split_whitespace().next().unwrap_or_default();
            let is_explained = ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"].contains(&verb);
            is_explained && seen.insert(asked.statement.clone())
        });
        let mut plans = Vec::new();
        for Prepared { statement, types, .. } in asked {
            let steps = database.explain(&statement, &types).await;
            plans.push(Plan { statement, steps });
        }
        // To explain them was to ask, too.
        self.statements();
        plans
    }

    /// The store's statements since the last call, each execution by itself.
    pub(crate) fn statements(&self) -> Vec<Prepared> {
        match &self.ear {
            Ear::Line(proxy) => proxy.take_statements(),
            Ear::File(file) => {
                let mut noted = NOTED.lock().unwrap_or_else(PoisonError::into_inner);
                let own = noted.extract_if(.., |(of, _)| of == file);
                own.map(|(_, noted)| Prepared {
                    statement: noted.split(" -- binds").next().unwrap_or_default().to_owned(),
                    types: Vec::new(),
                    executions: 1,
                })
                .collect()
            }
        }
    }
}

/// The statements of connections to files, with the files.
static NOTED: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

/// Records the statements of a connection to a file.
#[derive(Default)]
struct Noting {
    file: String,
}

impl Instrumentation for Noting {
    fn on_connection_event(&mut self, event: InstrumentationEvent<'_>) {
        match event {
            InstrumentationEvent::StartEstablishConnection { url, .. } => url.clone_into(&mut self.file),
            InstrumentationEvent::StartQuery { query, .. } => {
                let noted = (self.file.clone(), query.to_string());
                NOTED.lock().unwrap_or_else(PoisonError::into_inner).push(noted);
            }
            _ => {}
        }
    }
}

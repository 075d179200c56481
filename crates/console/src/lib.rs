//! Keyward's web console: first-run setup, sign-in, joining, and Organization Settings.
//!
//! Server-rendered pages with plain forms: everything works without JavaScript, which adds comfort only. The console
//! calls the use cases of the domain, never Keyward's own API, and knows no database. It stands behind the front door,
//! which sets the headers that every answer of Keyward carries and names each request.
//!
//! | to read about | look at |
//! |---|---|
//! | which URL leads where | `routes`, `paths` |
//! | what each page shows and does | `pages`, one file per page, with its template of the same name |
//! | who may see a page, and what each page is made with | `reader`, `viewer` |
//! | which requests are trusted | `same_origin`, `cookies`, `forms`, `local_path` |
//! | what a page says after a form was sent | `flash`, `pages/notice` |
//! | what every answer carries | `headers` |
//! | errors and their page | `refusal`, `error_page` |
//! | style, script and icon | `assets` |

mod answer;
pub mod api_paths;
mod assets;
mod console;
mod cookies;
mod error_page;
mod flash;
mod forms;
mod headers;
mod local_path;
mod pages;
mod path_id;
mod paths;
mod reader;
mod refusal;
mod request_source;
mod return_page;
mod routes;
mod same_origin;
mod token_free_url;
mod user_menu;
mod viewer;
mod wait;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use keyward_domain::keys::IdempotencyKey;
use poem::Endpoint;

pub use console::Console;
pub use error_page::error_page;
pub use paths::{invitation_link, setup_link};
pub use routes::{operation, operations};

impl Console {
    fn now(&self) -> DateTime<Utc> {
        self.sources.now()
    }

    /// A new one for each page with a form.
    fn new_idempotency_key(&self) -> IdempotencyKey {
        IdempotencyKey::generate(&self.sources)
    }

    /// Serves every path of the console, and a page that says "not found" everywhere else.
    pub fn endpoint(self) -> impl Endpoint {
        routes::endpoint(Arc::new(self))
    }
}

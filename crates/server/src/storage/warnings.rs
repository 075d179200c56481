//! Warnings about the PostgreSQL database at the start of the server.

use keyward_domain::failure_sentence::sentence;
use keyward_persistence::postgres::PostgresStore;
use tracing::warn;

/// Some errors can only be distinguished by their messages, whose language only a superuser can set.
pub(super) async fn warn_of_non_english_messages(store: &PostgresStore) {
    match store.non_english_messages().await {
        Ok(None) => {}
        Ok(Some(language)) => warn!(
            lc_messages = language.locale,
            hint = format!(
                "as a superuser, run `ALTER ROLE \"{}\" SET lc_messages = 'C'`, then reconnect any pooler",
                language.role
            ),
            "database messages are not in English, so timeouts are reported as defects"
        ),
        Err(error) => warn!(
            cause = sentence(&error),
            "cannot determine the language of database messages"
        ),
    }
}

/// Between `migrate` and the `REVOKE` after it, and after a version that makes the table anew, the role that
/// serves has the rights that new tables have by default.
pub(super) async fn warn_of_excessive_rights(store: &PostgresStore) {
    match store.may_rewrite_audit_log_of_another().await {
        Ok(false) => {}
        Ok(true) => warn!(
            hint = "as the tables' owner, run `REVOKE UPDATE, DELETE, TRUNCATE ON audit_events FROM …`",
            "database role may change and remove audit events"
        ),
        Err(error) => warn!(
            cause = sentence(&error),
            "cannot determine the database role's rights on audit events"
        ),
    }
}

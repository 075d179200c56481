//! The language in which PostgreSQL writes its messages. diesel passes on the message of an error, but not
//! its SQLSTATE, so some errors are recognized by their message.

use diesel::dsl::sql;
use diesel::sql_types::Text;
use diesel_async::RunQueryDsl;
use keyward_domain::ports::StorageError;

use super::store::PostgresStore;
use crate::abort::boxed;

/// PostgreSQL's English description of `lc_messages`.
const IN_ENGLISH: &str = "Sets the language in which messages are displayed.";

/// The server's messages are not in English, so temporary errors are reported as defects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageLanguage {
    /// The value of `lc_messages`.
    pub locale: String,
    /// The role of this store.
    pub role: String,
}

impl PostgresStore {
    /// Whether the server's messages to this store's role are in another language than English.
    ///
    /// # Errors
    /// Only if the database does not answer.
    pub async fn non_english_messages(&self) -> Result<Option<MessageLanguage>, StorageError> {
        self.read(|connection| {
            boxed(async move {
                let described = "(SELECT short_desc FROM pg_settings WHERE name = 'lc_messages')";
                let asked = (
                    sql::<Text>("current_setting('lc_messages')"),
                    sql::<Text>(described),
                    sql::<Text>("current_user::text"),
                );
                let (locale, description, role): (String, String, String) =
                    diesel::select(asked).get_result(connection).await?;
                Ok((!is_english(&locale, &description)).then_some(MessageLanguage { locale, role }))
            })
        })
        .await
    }
}

/// A server without translations for the configured language uses English; then it also describes the setting
/// in English.
fn is_english(locale: &str, description: &str) -> bool {
    matches!(locale, "C" | "POSIX") || description == IN_ENGLISH
}

#[cfg(test)]
mod tests {
    use super::{IN_ENGLISH, is_english};

    #[test]
    fn server_language_is_english_by_setting_or_missing_translation() {
        let in_german = "Setzt die Sprache, in der Mitteilungen ausgegeben werden.";
        assert!(is_english("C", in_german) && is_english("POSIX", in_german));
        for locale in ["de_DE.utf8", "", "en_US.utf8"] {
            assert!(!is_english(locale, in_german), "{locale}");
            assert!(is_english(locale, IN_ENGLISH), "{locale}");
        }
    }
}
